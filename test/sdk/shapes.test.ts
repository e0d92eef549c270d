import { expectTypeOf, it } from "vitest";
import type * as sdk from "../../packages/sdk/src/index.ts";
import type * as approvals from "../../packages/server/src/http/approval-schema.ts";
import type * as contexts from "../../packages/server/src/http/context-schema.ts";
import type * as processes from "../../packages/server/src/http/process-schema.ts";
import type * as runs from "../../packages/server/src/http/run-schema.ts";
import type * as sandboxes from "../../packages/server/src/http/sandbox-schema.ts";
import type * as secrets from "../../packages/server/src/http/secret-schema.ts";
import type * as snapshots from "../../packages/server/src/http/snapshot-schema.ts";

type Shown<S extends { _output: unknown }> = S["_output"];
type Asked<S extends { _input: unknown }> = S["_input"];

// The compiler holds these: a field that the API has and the SDK lacks, or the reverse, fails `npm run lint`.
it("[API-05] the SDK's shapes have the fields of the API's, no more and no fewer", () => {
  expectTypeOf<keyof sdk.SandboxInfo>().toEqualTypeOf<keyof Shown<typeof sandboxes.sandbox>>();
  expectTypeOf<keyof sdk.CreateOptions>().toEqualTypeOf<keyof Asked<typeof sandboxes.createSandbox>>();
  expectTypeOf<keyof sdk.SandboxChanges>().toEqualTypeOf<keyof Asked<typeof sandboxes.changeSandbox>>();
  expectTypeOf<keyof sdk.ApprovalInfo>().toEqualTypeOf<keyof Shown<typeof approvals.approval>>();
  expectTypeOf<keyof sdk.EgressRequest>().toEqualTypeOf<keyof Asked<typeof approvals.requestBody>>();
  expectTypeOf<keyof sdk.ApprovalAnswer | "approve">().toEqualTypeOf<keyof Asked<typeof approvals.decisionBody>>();
  expectTypeOf<keyof sdk.ApprovalFilter>().toEqualTypeOf<keyof Asked<typeof approvals.listQuery>>();
  expectTypeOf<Shown<typeof approvals.approval>>().toExtend<sdk.ApprovalInfo>();
  expectTypeOf<keyof sdk.RunResult>().toEqualTypeOf<keyof Shown<typeof runs.runResult>>();
  expectTypeOf<keyof sdk.FileChange>().toEqualTypeOf<keyof Shown<typeof runs.fileChange>>();
  expectTypeOf<keyof sdk.ProcessInfo>().toEqualTypeOf<keyof Shown<typeof processes.processInfo>>();
  expectTypeOf<keyof sdk.OutputPiece>().toEqualTypeOf<keyof Shown<typeof processes.outputPiece>>();
  expectTypeOf<keyof sdk.StartOptions | "command">().toEqualTypeOf<keyof Asked<typeof processes.startBody>>();
  expectTypeOf<keyof sdk.ContextInfo>().toEqualTypeOf<keyof Shown<typeof contexts.context>>();
  expectTypeOf<keyof sdk.ContextRunResult>().toEqualTypeOf<keyof Shown<typeof contexts.contextRunResult>>();
  expectTypeOf<keyof sdk.SnapshotInfo>().toEqualTypeOf<keyof Shown<typeof snapshots.snapshot>>();
  expectTypeOf<keyof sdk.SnapshotFile>().toEqualTypeOf<keyof Shown<typeof snapshots.snapshotFile>>();
  expectTypeOf<keyof sdk.SnapshotDiff>().toEqualTypeOf<keyof Shown<typeof snapshots.diff>>();
  expectTypeOf<keyof sdk.Restored>().toEqualTypeOf<keyof Shown<typeof snapshots.restored>>();
  expectTypeOf<keyof sdk.SecretInfo>().toEqualTypeOf<keyof Shown<typeof secrets.secret>>();
  expectTypeOf<Shown<typeof secrets.secret>>().toExtend<sdk.SecretInfo>();
  expectTypeOf<Shown<typeof sandboxes.sandbox>>().toExtend<sdk.SandboxInfo>();
  expectTypeOf<Shown<typeof runs.runResult>>().toExtend<sdk.RunResult>();
  expectTypeOf<Shown<typeof processes.processInfo>>().toExtend<sdk.ProcessInfo>();
  expectTypeOf<Shown<typeof snapshots.snapshot>>().toExtend<sdk.SnapshotInfo>();
});

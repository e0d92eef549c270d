import type { CreatedSandbox, Engine } from "../core/engine.ts";
import type { Events } from "../core/journal.ts";
import type { Signer } from "../core/manifest.ts";
import type { RefusalWatch } from "../core/network-refusal.ts";
import type { BackgroundPolicy } from "../core/process.ts";
import type { Redactor } from "../core/redaction.ts";
import type { RunLimits } from "../core/run.ts";
import type { RunObserver } from "../core/run-observer.ts";
import type { RunRecord } from "../core/run-record.ts";
import type { Adopt, Wire } from "../core/wire.ts";

export interface SandboxParts {
  engine: Engine;
  attach: (created: CreatedSandbox, died: Promise<string>, adopt: Adopt) => Promise<Wire>;
  /** Puts the sandbox's way out into its place, before anything runs in it. */
  openGate: (created: Pick<CreatedSandbox, "id" | "ownerFolder">, wire: Wire) => Promise<void>;
  /** Whom its programs are to trust on their way out, once there is one: said by variables, in place before a run begins. */
  trust: () => { variables(): Readonly<Record<string, string>>; placed(): Promise<void> } | undefined;
  /** Collects what the network refuses from now on. */
  watchRefusals: () => RefusalWatch;
  /** What every run finds in its environment. */
  environment: Readonly<Record<string, string>>;
  /** Where runs begin that name no folder. */
  folder: string;
  /** What a run gets that asks for no limits of its own. */
  runLimits: Readonly<Partial<RunLimits>>;
  background: BackgroundPolicy;
  /** Of this sandbox alone. */
  redactor: Redactor;
  /** Lets names out as long as a run goes on. */
  openRun: (sandboxId: string, domains: readonly string[]) => Promise<Disposable>;
  chronicle: SandboxChronicle;
  /** Called, and waited for, once a handle is destroyed or detached. */
  afterLeave?: () => Promise<void>;
}

export type SandboxEnd = "sandbox.destroyed" | "sandbox.detached" | "sandbox.stopped";

/** Who is told what happens to a sandbox. */
export interface SandboxChronicle extends RunObserver {
  events(sandboxId: string): Events;
  records(sandboxId: string): Promise<RunRecord[]>;
  disk(sandboxId: string, news: "standstill" | "room"): void;
  /** Its owner is done with it. */
  left(sandboxId: string, how: SandboxEnd): Promise<void>;
  signer(): Promise<Signer>;
  signed(sandboxId: string, files: number): void;
}

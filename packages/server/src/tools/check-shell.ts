import { newRunId } from "../core/run-id.ts";
import type { CheckShell } from "../core/validation.ts";
import { validationLimits } from "../core/validation-limits.ts";
import { findSession } from "./find-session.ts";
import type { ToolCall } from "./tool.ts";

const command = ["/bin/bash", "-n"];

/** `bash -n` in the session's sandbox where one is running; for a look at a script none is made, started or resumed. */
export async function shellCheckerOf(call: ToolCall, named: string | undefined): Promise<CheckShell | undefined> {
  const { caller, parts, signal } = call;
  const record = await findSession(call, named ?? call.session);
  if (record === undefined || record.status !== "running") return undefined;
  return async (code) => {
    const job = { id: newRunId(), kind: "command" as const, command, beside: { stdin: code }, signal };
    const limits = { timeoutMs: validationLimits.taskMs, outputBytes: validationLimits.bashBytes };
    const { exit_code, stderr } = await parts.fleet.run(caller, record.id, job, (sandbox) =>
      sandbox.exec({ id: job.id, command, stdin: code, limits, signal, trackFiles: false }),
    );
    return { exitCode: exit_code, stderr };
  };
}

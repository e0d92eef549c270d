import { toCommand } from "../core/command.ts";
import type { CheckShell } from "../core/validation.ts";
import { validationLimits } from "../validation/limits.ts";
import { findSession } from "./find-session.ts";
import type { ToolCall } from "./tool.ts";

/** `bash -n` in the session's sandbox where one is running; for a look at a script none is made, started or resumed. */
export async function shellCheckerOf(call: ToolCall, named: string | undefined): Promise<CheckShell | undefined> {
  const { caller, parts, signal } = call;
  const record = await findSession(call, named ?? call.session);
  if (record === undefined || record.status !== "running") return undefined;
  return async (code) => {
    const limits = { timeoutMs: validationLimits.taskMs, outputBytes: validationLimits.bashBytes };
    const command = toCommand({ what: { argv: ["/bin/bash", "-n"] }, stdin: Buffer.from(code), limits });
    const { exit_code, stderr } = await parts.fleet.run(caller, record.id, command, { signal }, (sandbox) =>
      sandbox.run({ signal, trackFiles: false }),
    );
    return { exitCode: exit_code, stderr };
  };
}

import type { CopiedOutput } from "../../core/engine.ts";
import { AppError, messageOf } from "../../core/errors.ts";
import { engineLimits } from "../limits.ts";
import type { Argument, HelperClient } from "./helper-client.ts";
import type { Live } from "./live.ts";

/** Copies /workspace/output of a sandbox whose processes may go on meanwhile, running or frozen. */
export async function copyOutput(
  helper: HelperClient,
  live: Live,
  ids: readonly Argument[],
  path: string,
): Promise<CopiedOutput> {
  const reply = await helper
    .request("output", [
      ["id", live.id],
      ["pid", live.rootPid],
      ...ids,
      ["to", path],
      ["files", engineLimits.outputFiles],
      ["bytes", live.settled?.limits.storageBytes ?? 0],
      ["reserveBytes", engineLimits.outputReserveBytes],
      ["timeoutMs", engineLimits.outputTimeoutMs],
    ])
    .catch((cause: unknown) => {
      throw new AppError("unavailable", `cannot copy the output: ${messageOf(cause)}`, { cause });
    });
  const { files, bytes, skipped, whole } = reply;
  return { files: Number(files), bytes: Number(bytes), skipped: Number(skipped), whole: whole === "1" };
}

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Changes } from "../../core/engine.ts";
import { AppError, messageOf } from "../../core/errors.ts";
import { changeLimits } from "../../core/limits.ts";
import { parseChanges } from "./changes.ts";
import type { Argument, HelperClient } from "./helper-client.ts";
import type { Live } from "./live.ts";

/** One look at the files of a workspace, which becomes the next one's mark; compared with the last one if asked. */
export async function lookAtFiles(
  helper: HelperClient,
  live: Live,
  ids: readonly Argument[],
  compare: boolean,
): Promise<Changes> {
  const args: Argument[] = [
    ["id", live.id],
    ["folder", live.folder],
    ["pid", live.rootPid],
    ...ids,
    ["files", changeLimits.files],
    ["reported", changeLimits.reported],
    ["depth", changeLimits.depth],
    ["pathBytes", changeLimits.pathBytes],
    ["hashBytes", changeLimits.hashBytes],
    ["timeoutMs", changeLimits.timeoutMs],
  ];
  args.push(["last", `mark.${live.looked % 2}`], ["mark", `mark.${(live.looked + 1) % 2}`]);
  if (compare) args.push(["compare", 1]);
  if (live.empty !== undefined) args.push(["empty", live.empty]);
  if (live.hasInput) args.push(["skip", "input"]);
  const reply = await inTime(helper.request("changes", args)).catch((error: unknown) => {
    throw new AppError("unavailable", `cannot read the workspace: ${messageOf(error)}`, { cause: error });
  });
  if (reply.same === undefined) {
    live.looked++;
    live.empty = reply.empty;
  }
  const truncated = reply.truncated === "1";
  if (!compare || reply.changes === "0") return { changes: [], truncated };
  return { changes: parseChanges(await readFile(join(live.folder, "changes.out"))), truncated };
}

/** The helper's walk ends itself in time, unless the disk holds it where no signal reaches it. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new AppError("timeout", "its disk does not respond")),
    changeLimits.timeoutMs + changeLimits.graceMs,
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

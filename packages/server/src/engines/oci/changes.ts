import type { FileAction, FileChange } from "../../core/engine.ts";
import { AppError } from "../../core/errors.ts";

const actions: Record<string, FileAction> = { c: "created", m: "modified", d: "deleted" };
const NUL = 0;

/** Reads what the helper wrote: `action size sha256-or-dash path`, each ended by NUL, the path as bytes. */
export function parseChanges(bytes: Buffer): FileChange[] {
  const changes: FileChange[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(NUL, start);
    if (end < 0) throw new AppError("internal", "the list of changed files is cut short");
    const match = /^([cmd]) (\d+) (-|[0-9a-f]{64}) /.exec(bytes.toString("latin1", start, Math.min(end, start + 96)));
    const action = actions[match?.[1] ?? ""];
    if (match === null || action === undefined)
      throw new AppError("internal", "the list of changed files is not readable");
    changes.push({
      path: bytes.toString("utf8", start + match[0].length, end),
      action,
      size_bytes: Number(match[2]),
      sha256: match[3] === "-" ? null : (match[3] ?? null),
    });
    start = end + 1;
  }
  return changes;
}

import type { SnapshotDiff } from "../core/snapshot.ts";
import { shownPath } from "../core/tree.ts";
import type { TreeChange } from "./compare-trees.ts";
import { snapshotLimits } from "./snapshot-limits.ts";

/** Changes as people see them, up to a number of them. */
export function describeChanges(changes: Iterable<TreeChange>): SnapshotDiff {
  const diff: SnapshotDiff = { created: [], modified: [], deleted: [], truncated: false };
  let told = 0;
  for (const { change, path, entry } of changes) {
    if (told === snapshotLimits.reported) {
      diff.truncated = true;
      break;
    }
    told++;
    const { type, size, mode, sha256 } = entry;
    diff[change].push({ path: shownPath(path), type, size, mode, sha256: sha256 === "" ? null : sha256 });
  }
  return diff;
}

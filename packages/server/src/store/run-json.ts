import { recordLimits } from "../core/limits.ts";
import type { RunRecord } from "../core/run-record.ts";

/** A record of hostile output can grow sixfold in JSON; past the cap its facts stay and its texts go. */
export function runJson(record: RunRecord): string {
  const json = JSON.stringify(record);
  if (Buffer.byteLength(json) <= recordLimits.recordBytes) return json;
  return JSON.stringify({ ...record, stdout: "", stderr: "", files_changed: [], truncated: true });
}

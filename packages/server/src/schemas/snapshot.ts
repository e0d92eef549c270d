import { z } from "zod";
import type { RestoreOutcome, SnapshotDiff, SnapshotRecord } from "../core/snapshot.ts";
import { shownPath, type TreeEntry } from "../core/tree.ts";
import { snapshotLimits } from "../sandboxes/snapshot-limits.ts";
import { sandboxId } from "./sandbox.ts";

const id = z.string().min(1).max(64).describe("id of the snapshot");

export const snapshotId = z.strictObject({ snapshot_id: id });
export const sandboxSnapshotId = sandboxId.extend({ snapshot_id: id });

export const createSnapshot = z
  .strictObject({ description: z.string().max(snapshotLimits.descriptionCharacters).optional() })
  .meta({ id: "CreateSnapshot" });

export const snapshot = z
  .object({
    id: z.string(),
    sandbox_id: z.string(),
    description: z.string(),
    timestamp: z.iso.datetime(),
    file_count: z.number().int(),
    folder_count: z.number().int(),
    link_count: z.number().int(),
    total_size: z.number().int().describe("total bytes of all files"),
    added_size: z.number().int().describe("bytes added to the store"),
    skipped: z.number().int().describe("number of sockets, FIFOs and devices, which are not saved"),
    unreadable: z.number().int().describe("entries that the sandbox's user could not read"),
    changed: z.number().int().describe("files that shrank while they were read"),
    created_by: z.string(),
  })
  .meta({ id: "Snapshot" });

/** As agents know it. */
export const stateSnapshot = snapshot.extend({ snapshot_id: z.string() }).omit({ id: true });

export function showSnapshot(record: SnapshotRecord): z.output<typeof snapshot> {
  return {
    id: record.id,
    sandbox_id: record.sandboxId,
    description: record.description,
    timestamp: new Date(record.createdAtMs).toISOString(),
    file_count: record.files,
    folder_count: record.folders,
    link_count: record.links,
    total_size: record.totalBytes,
    added_size: record.addedBytes,
    skipped: record.skipped,
    unreadable: record.unreadable,
    changed: record.changed,
    created_by: record.createdBy,
  };
}

const kinds = ["file", "directory", "link", "hard-link", "unreadable"] as const;

export const snapshotFile = z
  .object({
    path: z.string(),
    type: z.enum(kinds),
    size: z.number().int(),
    mode: z.string().describe("permission bits in octal"),
    mtime: z.iso.datetime().nullable(),
    sha256: z.string().nullable(),
    target: z.string().nullable().describe("target of a link; for a hard link, the first name of the same file"),
  })
  .meta({ id: "SnapshotFile" });

/** Years of four digits; files may say anything. */
const mostMs = 60_000_000_000_000;

export function showFile(entry: TreeEntry): z.output<typeof snapshotFile> {
  const ms = Number(entry.mtimeNs / 1_000_000n);
  return {
    path: shownPath(entry.path),
    type: entry.type,
    size: entry.size,
    mode: entry.mode.toString(8).padStart(4, "0"),
    mtime: Math.abs(ms) < mostMs ? new Date(ms).toISOString() : null,
    sha256: entry.sha256 === "" ? null : entry.sha256,
    target: entry.target === "" ? null : shownPath(entry.target),
  };
}

const diffEntry = z
  .object({
    path: z.string(),
    type: z.enum(kinds),
    size: z.number().int(),
    mode: z.string().describe("permission bits in octal"),
    sha256: z.string().nullable(),
  })
  .meta({ id: "SnapshotDifference" });

export const diff = z
  .object({
    created: z.array(diffEntry),
    modified: z.array(diffEntry),
    deleted: z.array(diffEntry),
    truncated: z.boolean().describe("true if the list is incomplete"),
  })
  .meta({ id: "SnapshotDiff" });

export function showStateSnapshot(record: SnapshotRecord): z.output<typeof stateSnapshot> {
  const { id: snapshot_id, ...rest } = showSnapshot(record);
  return { snapshot_id, ...rest };
}

export function showDiff({ created, modified, deleted, truncated }: SnapshotDiff): z.output<typeof diff> {
  const show = (entries: SnapshotDiff["created"]) =>
    entries.map((entry) => ({ ...entry, mode: entry.mode.toString(8).padStart(4, "0") }));
  return { created: show(created), modified: show(modified), deleted: show(deleted), truncated };
}

export const restored = z
  .object({
    deleted: z.number().int(),
    written: z.number().int().describe("number of files and links written"),
    changed: z.number().int().describe("number of entries whose mode or time was corrected"),
    written_size: z.number().int(),
  })
  .meta({ id: "RestoredSnapshot" });

export function showRestored(outcome: RestoreOutcome): z.output<typeof restored> {
  const { removed, written, changed, writtenBytes } = outcome;
  return { deleted: removed, written, changed, written_size: writtenBytes };
}

import { messageOf } from "../../core/errors.ts";
import type { Happening } from "../../core/journal.ts";
import type { KeptArtifacts } from "../../core/kept-artifacts.ts";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import { hidePaths } from "../../lib/hide-paths.ts";
import type { Sandbox } from "../sandbox.ts";
import { type Actor, about, type Book } from "./book.ts";

/** Stores what a sandbox left in its output folder. */
export type Keep = (record: SandboxRecord, sandbox: Sandbox) => Promise<KeptArtifacts>;

export interface HarvestParts {
  book: Book;
  keep?: Keep | undefined;
  onError: (error: unknown) => void;
}

/**
 * Takes out of a sandbox what is to outlive it, while its boundary still stands. What cannot be taken is told, in the log too,
 * and keeps no sandbox from ending: a full folder must not fill the machine with sandboxes.
 */
export async function copyOutput(parts: HarvestParts, record: SandboxRecord, sandbox: Sandbox, actor: Actor) {
  const { outputFolder: folder } = record;
  if (folder === null) return;
  const failed = (reason: string): Happening => ({ type: "output.failed", data: { folder, reason } });
  await attempt(parts, record, actor, failed, async () => {
    const { files, bytes, skipped, whole } = await sandbox.copyOutput(folder);
    return { type: "output.copied", data: { folder, files, bytes, skipped, whole } };
  });
}

export async function keepArtifacts(parts: HarvestParts, record: SandboxRecord, sandbox: Sandbox, actor: Actor) {
  const { keep } = parts;
  if (record.keepArtifactsMs === 0 || keep === undefined) return;
  const failed = (reason: string): Happening => ({ type: "artifacts.failed", data: { reason } });
  await attempt(parts, record, actor, failed, async () => {
    const { files, totalBytes, manifest, expiresAtMs } = await keep(record, sandbox);
    const expires_at = new Date(expiresAtMs).toISOString();
    return { type: "artifacts.kept", data: { files, bytes: totalBytes, manifest, expires_at } };
  });
}

async function attempt(
  { book, onError }: HarvestParts,
  record: SandboxRecord,
  actor: Actor,
  failed: (reason: string) => Happening,
  act: () => Promise<Happening>,
): Promise<void> {
  const happened = await act().catch((error: unknown) => {
    onError(error);
    return failed(hidePaths(messageOf(error)));
  });
  await book.journal.record({ ...happened, ...about(record, actor) });
}

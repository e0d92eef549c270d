import { messageOf } from "../../core/errors.ts";
import type { FeedType } from "../../core/feed.ts";
import { hidePaths } from "../../core/hide-paths.ts";
import type { KeptArtifacts } from "../../core/kept-artifacts.ts";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import type { Sandbox } from "../sandbox.ts";
import type { Actor, Happened, Ledger } from "./ledger.ts";

/** Stores what a sandbox left in its output folder. */
export type Keep = (record: SandboxRecord, sandbox: Sandbox) => Promise<KeptArtifacts>;

export interface HarvestParts {
  ledger: Ledger;
  keep?: Keep | undefined;
  onError: (error: unknown) => void;
}

type Detail = Happened["detail"];

/**
 * Takes out of a sandbox what is to outlive it, while its boundary still stands. What cannot be taken is told, in the log too,
 * and keeps no sandbox from ending: a full folder must not fill the machine with sandboxes.
 */
export async function copyOutput(parts: HarvestParts, record: SandboxRecord, sandbox: Sandbox, actor: Actor) {
  const { outputFolder: folder } = record;
  if (folder === null) return;
  await attempt(parts, record, actor, ["output.copied", "output.failed"], { folder }, async () => {
    const { files, bytes, skipped, whole } = await sandbox.copyOutput(folder);
    return { files, bytes, skipped, whole };
  });
}

export async function keepArtifacts(parts: HarvestParts, record: SandboxRecord, sandbox: Sandbox, actor: Actor) {
  const { keep } = parts;
  if (record.keepArtifactsMs === 0 || keep === undefined) return;
  await attempt(parts, record, actor, ["artifacts.kept", "artifacts.failed"], {}, async () => {
    const { files, totalBytes, manifest, expiresAtMs } = await keep(record, sandbox);
    return { files, bytes: totalBytes, manifest, expires_at: new Date(expiresAtMs).toISOString() };
  });
}

async function attempt(
  { ledger, onError }: HarvestParts,
  record: SandboxRecord,
  actor: Actor,
  [done, failed]: readonly [FeedType, FeedType],
  about: Detail,
  act: () => Promise<Detail>,
): Promise<void> {
  const tell = async (type: FeedType, detail: Detail) => {
    await ledger.note(record, { type, actor, detail });
    ledger.tell(record.namespace, record.id, type, detail);
  };
  let result: Detail;
  try {
    result = await act();
  } catch (error) {
    onError(error);
    return tell(failed, { ...about, reason: hidePaths(messageOf(error)) });
  }
  return tell(done, { ...about, ...result });
}

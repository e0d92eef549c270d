import { messageOf } from "../../core/errors.ts";
import type { Sandbox } from "../sandbox.ts";
import type { Actor, Ledger } from "./ledger.ts";
import type { Member } from "./member.ts";

export interface HarvestParts {
  ledger: Ledger;
  onError: (error: unknown) => void;
}

/**
 * Takes out of a sandbox what is to outlive it, while its boundary still stands. What cannot be taken is told, in the log too,
 * and keeps no sandbox from ending: a full folder must not fill the machine with sandboxes.
 */
export async function harvest(
  { ledger, onError }: HarvestParts,
  { record }: Member,
  sandbox: Sandbox | undefined,
  actor: Actor,
): Promise<void> {
  const { outputFolder: folder, namespace, id } = record;
  if (folder === null || sandbox === undefined) return;
  const tell = async (type: "output.copied" | "output.failed", detail: Record<string, string | number | boolean>) => {
    await ledger.note(record, { type, actor, detail });
    ledger.tell(namespace, id, type, detail);
  };
  try {
    const { files, bytes, skipped, whole } = await sandbox.copyOutput(folder);
    await tell("output.copied", { folder, files, bytes, skipped, whole });
  } catch (error) {
    onError(error);
    await tell("output.failed", { folder, reason: messageOf(error) });
  }
}

import { AppError, messageOf } from "../../core/errors.ts";
import type { Sandbox } from "../sandbox.ts";
import type { Member } from "./member.ts";
import type { Provisioner } from "./provisioner.ts";

/** Within its turn: it may have been given a value as it was started (LIF-10). */
export async function whyNotLent(
  { provisioner }: { provisioner: Pick<Provisioner, "heldPlain"> },
  { record }: Member,
  { enforced }: Sandbox,
): Promise<string | null> {
  if (await provisioner.heldPlain(record.id)) return "its files may hold a secret's value";
  return enforced.includes("storage") ? null : "its workspace has no size of its own";
}

/** Where its files lie on too many layers already, or this machine cannot lay any over another. */
export function refusalOf(error: unknown): string {
  const isKnown =
    error instanceof AppError &&
    (error.details?.unsaveable === true || error.code === "unsupported" || error.details?.errno === "EOPNOTSUPP");
  if (isKnown) return messageOf(error);
  throw error;
}

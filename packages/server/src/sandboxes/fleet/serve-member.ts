import { AppError } from "../../core/errors.ts";
import type { ServeOptions } from "../../core/fleet.ts";
import type { Caller } from "../../core/principal.ts";
import type { CreationParts } from "./creation.ts";
import type { Member } from "./member.ts";

type ServeParts = Pick<CreationParts, "lifecycle" | "provisioner" | "book">;

/** Gives the sandbox of a hosted server the root and the secrets that its next start has; one that runs with others is stopped. */
export async function serveMember(
  { lifecycle, provisioner, book }: ServeParts,
  caller: Caller,
  member: Member,
  { root, secrets }: ServeOptions,
): Promise<void> {
  const { id, serverId, layerId } = member.record;
  if (serverId === null || serverId !== caller.serverId || root.layerId === null)
    throw new AppError("internal", `sandbox ${id} cannot be served`);
  if (layerId !== root.layerId) {
    await lifecycle.stop(member, caller, { why: "another version takes over" });
    const changes = { image: root.name, layerId: root.layerId };
    await book.records.update(id, changes);
    member.record = { ...member.record, ...changes };
  }
  provisioner.admit(id, secrets);
  await lifecycle.refresh(member);
}

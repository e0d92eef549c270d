import type { EgressPolicy } from "../../core/egress.ts";
import type { Caller } from "../../core/principal.ts";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import type { Sandbox } from "../sandbox.ts";
import { about, environmentOf } from "./book.ts";
import type { CreationParts } from "./creation.ts";
import { Member } from "./member.ts";

/** What a sandbox is to be like that goes on from another's memory. */
export interface Like {
  record: SandboxRecord;
  origin: string;
  policy: EgressPolicy | null;
}

/** Recorded, equipped, and then somebody's. Where that fails it is nobody's: whoever made it removes it. */
export async function settleCopy(parts: CreationParts, caller: Caller, like: Like, copy: Sandbox): Promise<Member> {
  const { book, lifecycle, registry, egress, provisioner, clock } = parts;
  const { id: copyOf, env, limits, serverId } = like.record;
  const { namespace, id: createdBy } = caller.principal;
  const lifetimeMs = lifetimeOf(parts, like.record);
  const record = recordOf(caller, like, copy, { nowMs: clock.wallMs(), lifetimeMs });
  try {
    if (like.policy !== null) await egress?.keep(record.id, like.policy);
    await provisioner.provision(caller, copy, { namespace, createdBy, serverId, env, limits, copyOf });
    const data = { status: record.status, engine: record.engine, image: record.image, origin: record.origin };
    const created = { ...about(record, caller), type: "sandbox.created", data } as const;
    await book.journal.recordAll([created, ...environmentOf(record, caller)], (within) =>
      book.records.insert(record, within),
    );
  } catch (error) {
    egress?.left(record.id);
    throw error;
  }
  const member = new Member(record, clock);
  lifecycle.hold(member, copy);
  registry.add(member);
  if (!provisioner.isCurrent(copy, record)) await lifecycle.refresh(member);
  return member;
}

/** The original's, as far as that may be asked for now (S78). */
export function lifetimeOf(
  { maxLifetimeMs }: Pick<CreationParts, "maxLifetimeMs">,
  { expiresAtMs, createdAtMs }: SandboxRecord,
): number {
  return Math.min(expiresAtMs - createdAtMs, maxLifetimeMs);
}

/** As the original's, but for what is of one sandbox alone. Its time begins anew. */
function recordOf(
  caller: Caller,
  { record, origin }: Like,
  copy: Sandbox,
  { nowMs, lifetimeMs }: { nowMs: number; lifetimeMs: number },
): SandboxRecord {
  return {
    ...record,
    id: copy.id,
    namespace: caller.principal.namespace,
    status: "running",
    sessionKey: null,
    createdAtMs: nowMs,
    lastUsedAtMs: nowMs,
    expiresAtMs: nowMs + lifetimeMs,
    pausedAtMs: null,
    origin,
    failure: null,
    createdBy: caller.principal.id,
  };
}

import { AppError } from "../../core/errors.ts";
import type { Fork, ForkRequest } from "../../core/fork.ts";
import { forkLimits } from "../../core/fork-limits.ts";
import type { Caller } from "../../core/principal.ts";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import { checkRange } from "../../core/size.ts";
import type { Sandbox } from "../sandbox.ts";
import type { Asked } from "./asked.ts";
import { type CreationParts, createMember } from "./creation.ts";
import { Member, rootOf } from "./member.ts";

/** Copies of a member: a place for each first, then all of them at once, then each recorded and somebody's. */
export async function forkMember(
  parts: CreationParts,
  caller: Caller,
  original: Member,
  { count, memory }: ForkRequest,
): Promise<Fork> {
  checkRange(count, forkLimits.copies, "count", String);
  const { namespace } = original.record;
  const why = memory === "never" ? "memory was not asked for" : await reasonAgainstMemory(parts, original);
  if (why !== null && memory === "required") throw new AppError("unsupported", why, { hint: "memory: never" });
  return parts.registry.reserveAll(namespace, count, async () => {
    if (why !== null) return copyFiles(parts, caller, original, count, why);
    const copies = await parts.queue
      .with({ namespace }, async () => {
        const sandbox = await parts.lifecycle.running(original, caller);
        return original.turn.take(() =>
          parts.maker.forkSandbox(sandbox, { count, fleet: true, ...rootOf(original.record) }),
        );
      })
      .catch((error: unknown) => unsaveable(error, memory));
    if (typeof copies === "string") return copyFiles(parts, caller, original, count, copies);
    const records = await settleAll(parts, caller, original, copies);
    return { records, memory: true, why: null, files: "overlay" };
  });
}

/** What runs there now cannot be saved: why, where files alone will do. */
function unsaveable(error: unknown, memory: ForkRequest["memory"]): string {
  if (memory === "auto" && error instanceof AppError && error.details?.unsaveable === true) return error.message;
  throw error;
}

/** New sandboxes of the same kind, with the files of the original. */
async function copyFiles(
  parts: CreationParts,
  caller: Caller,
  original: Member,
  count: number,
  why: string,
): Promise<Fork> {
  const sandbox = await parts.lifecycle.running(original, caller);
  const members: Member[] = [];
  try {
    await parts.lendFiles(caller, sandbox, async (snapshotId) => {
      const network = parts.egress?.ownPolicy(original.record.id) ?? null;
      const asked = { ...askedLike(original.record), snapshotId, network };
      while (members.length < count) members.push(await createMember(parts, caller, asked));
    });
    await tellFork(parts, caller, original, members, false);
  } catch (error) {
    await destroyAll(parts, members);
    throw error;
  }
  return { records: members.map(({ record }) => record), memory: false, why, files: "copy" };
}

function askedLike({ image, layerId, engine, limits, env, labels, ...record }: SandboxRecord): Asked {
  const { outputFolder, keepArtifactsMs, idleTimeoutMs, expiresAtMs, createdAtMs } = record;
  return {
    image: { name: image, layerId },
    ...{ engine, limits, env, labels, outputFolder, keepArtifactsMs, idleTimeoutMs },
    lifetimeMs: expiresAtMs - createdAtMs,
    sessionKey: null,
    snapshotId: null,
    inputFolder: null,
    priority: 0,
    warm: "first-use",
    network: null,
  };
}

async function destroyAll({ lifecycle, registry, onError }: CreationParts, members: readonly Member[]): Promise<void> {
  for (const member of members) {
    await lifecycle.destroy(member, undefined, "not all copies could be made").catch(onError);
    registry.delete(member);
  }
}

async function tellFork(
  { ledger }: CreationParts,
  caller: Caller,
  { record }: Member,
  copies: readonly Member[],
  memory: boolean,
): Promise<void> {
  const detail = { copies: copies.length, ids: copies.map((copy) => copy.record.id).join(" "), memory };
  await ledger.update(record, {}, { type: "sandbox.forked", actor: caller, detail });
}

/** Null where the copies can have it. */
async function reasonAgainstMemory({ equipment }: CreationParts, { record }: Member): Promise<string | null> {
  if (record.engine !== "gvisor") return `the engine ${record.engine} cannot save memory`;
  if (await equipment.heldPlain(record.id)) return "the sandbox has had a secret's value, which its memory may hold";
  return null;
}

async function settleAll(
  parts: CreationParts,
  caller: Caller,
  original: Member,
  copies: readonly Sandbox[],
): Promise<SandboxRecord[]> {
  const { removals, onError } = parts;
  const settled: Member[] = [];
  try {
    for (const copy of copies) settled.push(await settle(parts, caller, original, copy));
    await tellFork(parts, caller, original, settled, true);
  } catch (error) {
    await destroyAll(parts, settled);
    for (const copy of copies.slice(settled.length)) await removals.remove(copy.id, copy).catch(onError);
    throw error;
  }
  return settled.map(({ record }) => record);
}

async function settle(parts: CreationParts, caller: Caller, original: Member, copy: Sandbox): Promise<Member> {
  const { ledger, lifecycle, registry, egress, equipment, clock } = parts;
  const { id: copyOf, env, limits } = original.record;
  const { namespace, id: createdBy } = caller.principal;
  const record = recordOf(caller, original.record, copy, clock.wallMs());
  try {
    const policy = egress?.ownPolicy(copyOf);
    if (policy !== undefined) await egress?.keep(record.id, policy);
    await equipment.equip(caller, copy, { namespace, createdBy, env, limits, copyOf });
    const detail = { status: record.status, engine: record.engine, image: record.image, origin: record.origin };
    await ledger.insert(record, { type: "sandbox.created", actor: caller, detail });
    await ledger.noteEnvironment(record, caller);
  } catch (error) {
    egress?.left(record.id);
    throw error;
  }
  const member = new Member(record, clock);
  lifecycle.hold(member, copy);
  registry.add(member);
  if (!equipment.isCurrent(copy, record)) await lifecycle.refresh(member);
  return member;
}

/** As the original's, but for what is of one sandbox alone. Its time begins anew. */
function recordOf(caller: Caller, original: SandboxRecord, copy: Sandbox, nowMs: number): SandboxRecord {
  return {
    ...original,
    id: copy.id,
    namespace: caller.principal.namespace,
    status: "running",
    sessionKey: null,
    createdAtMs: nowMs,
    lastUsedAtMs: nowMs,
    expiresAtMs: nowMs + (original.expiresAtMs - original.createdAtMs),
    pausedAtMs: null,
    origin: `fork of ${original.id}`,
    failure: null,
    createdBy: caller.principal.id,
  };
}

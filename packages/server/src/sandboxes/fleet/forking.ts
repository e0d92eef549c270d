import { AppError } from "../../core/errors.ts";
import type { Fork, ForkRequest } from "../../core/fork.ts";
import { forkLimits } from "../../core/fork-limits.ts";
import type { Caller } from "../../core/principal.ts";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import { checkRange } from "../../core/size.ts";
import type { Sandbox } from "../sandbox.ts";
import { about } from "./book.ts";
import { type CreationParts, createMember } from "./creation.ts";
import { forkFiles } from "./fork-files.ts";
import { type Member, rootOf } from "./member.ts";
import { keptOf, type ResolvedRequest } from "./resolve-defaults.ts";
import { lifetimeOf, settleCopy } from "./settle-copy.ts";

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
  parts.registry.reserve(namespace, count);
  try {
    using _share = await parts.shares.reserve(namespace, count * original.record.limits.storageBytes);
    if (why !== null) return await copyFiles(parts, caller, original, count, why);
    const copies = await parts.queue
      .with({ caller, kind: "fork", sandboxId: original.record.id }, async () => {
        const sandbox = await parts.lifecycle.running(original, caller);
        return original.turn.take(async () => {
          await checkNoPlain(parts, original);
          return parts.maker.copies.fork(sandbox, { count, ...rootOf(original.record) });
        });
      })
      .catch((error: unknown) => unsaveable(error, memory));
    if (typeof copies === "string") return await copyFiles(parts, caller, original, count, copies);
    const records = await settleAll(parts, caller, original, copies, true);
    return { records, memory: true, why: null, files: "overlay" };
  } finally {
    parts.registry.release(namespace, count);
  }
}

/** What runs there now cannot be saved, or nothing can be by this engine: why, where files alone will do. */
function unsaveable(error: unknown, memory: ForkRequest["memory"]): string {
  const isKnown = error instanceof AppError && (error.details?.unsaveable === true || error.code === "unsupported");
  if (memory === "auto" && isKnown) return error.message;
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
  const copied = await forkFiles(parts, caller, original, count);
  if (typeof copied === "string") return copySnapshot(parts, caller, original, count, `${why}; ${copied}`);
  const { copies, files } = copied;
  const records = await settleAll(parts, caller, original, copies, false);
  return { records, memory: false, why, files };
}

/** With what a snapshot reads of them: the workspace, without the values of secrets. */
async function copySnapshot(
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
      const asked = {
        ...askedLike(original.record),
        lifetimeMs: lifetimeOf(parts, original.record),
        snapshotId,
        network,
      };
      while (members.length < count) members.push(await createMember(parts, caller, asked));
    });
    await tellFork(parts, caller, original, members, false);
  } catch (error) {
    await destroyAll(parts, members);
    throw error;
  }
  return { records: members.map(({ record }) => record), memory: false, why, files: "snapshot" };
}

function askedLike(record: SandboxRecord): Omit<ResolvedRequest, "lifetimeMs"> {
  const { image, layerId, engine, limits } = record;
  return {
    ...keptOf(record),
    image: { name: image, layerId },
    engine,
    limits,
    sessionKey: null,
    snapshotId: null,
    inputFolder: null,
    priority: undefined,
    warm: "first-use",
    network: null,
    template: null,
    forTemplate: false,
  };
}

async function destroyAll({ lifecycle, registry, onError }: CreationParts, members: readonly Member[]): Promise<void> {
  for (const member of members) {
    await lifecycle.destroy(member, undefined, "not all copies could be made").catch(onError);
    registry.delete(member);
  }
}

async function tellFork(
  { book }: CreationParts,
  caller: Caller,
  { record }: Member,
  copies: readonly Member[],
  memory: boolean,
): Promise<void> {
  const data = { copies: copies.length, ids: copies.map((copy) => copy.record.id).join(" "), memory };
  await book.journal.record({ ...about(record, caller), type: "sandbox.forked", data });
}

/** Null where the copies can have it. */
export async function reasonAgainstMemory({ provisioner }: CreationParts, { record }: Member): Promise<string | null> {
  if (record.engine !== "gvisor") return `the engine ${record.engine} cannot save memory`;
  if (await provisioner.heldPlain(record.id)) return "the sandbox has had a secret's value, which its memory may hold";
  return null;
}

/** Within its turn: it may have been given a value while it waited for one, or as it was started. */
export async function checkNoPlain(parts: CreationParts, member: Member): Promise<void> {
  const why = await reasonAgainstMemory(parts, member);
  if (why !== null) throw new AppError("unsupported", why, { hint: "copy its files instead" });
}

async function settleAll(
  parts: CreationParts,
  caller: Caller,
  original: Member,
  copies: readonly Sandbox[],
  memory: boolean,
): Promise<SandboxRecord[]> {
  const { removals, onError } = parts;
  const settled: Member[] = [];
  try {
    const { record } = original;
    const like = { record, origin: `fork of ${record.id}`, policy: parts.egress?.ownPolicy(record.id) ?? null };
    for (const copy of copies) settled.push(await settleCopy(parts, caller, like, copy));
    await tellFork(parts, caller, original, settled, memory);
  } catch (error) {
    await destroyAll(parts, settled);
    for (const copy of copies.slice(settled.length)) await removals.remove(copy.id, copy).catch(onError);
    throw error;
  }
  return settled.map(({ record }) => record);
}

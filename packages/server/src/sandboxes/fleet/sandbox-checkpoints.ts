import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import type { CheckpointQuery, CheckpointRecord, FleetCheckpoints, KeptCheckpoint } from "../../core/checkpoint.ts";
import type { EgressPolicy } from "../../core/egress.ts";
import { AppError } from "../../core/errors.ts";
import { checkpointLimits } from "../../core/fork-limits.ts";
import type { Caller } from "../../core/principal.ts";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import { type ContextJson, contextFromJson, contextToJson } from "../context-json.ts";
import { about } from "./book.ts";
import type { CreationParts } from "./creation.ts";
import { checkNoPlain, reasonAgainstMemory } from "./forking.ts";
import { savesMemory } from "./kept-seeds.ts";
import { checkpointKeys } from "./keys.ts";
import { type Member, rootOf } from "./member.ts";
import type { SavedMemory } from "./saved-memory.ts";
import { settleCopy } from "./settle-copy.ts";

const engine = savesMemory;

interface CheckpointParts extends Omit<SavedMemory, "seeds"> {
  creation: CreationParts;
}

/** Checkpoints of a fleet's sandboxes: sealed by the engine, with keys of their own that lie in the vault (S75). */
export class SandboxCheckpoints implements FleetCheckpoints {
  readonly #parts: CheckpointParts;
  /** Being made, by namespace: they count before they are there. */
  readonly #coming = new Map<string, number>();

  constructor(parts: CheckpointParts) {
    this.#parts = parts;
  }

  async create(caller: Caller, sandboxId: string, name: string): Promise<CheckpointRecord> {
    const { creation, keys } = this.#parts;
    if (name.length > checkpointLimits.nameCharacters)
      throw new AppError("invalid", `the name is too long (limit: ${checkpointLimits.nameCharacters} characters)`);
    const member = creation.registry.find(caller, sandboxId);
    const why = await reasonAgainstMemory(creation, member);
    if (why !== null) throw new AppError("unsupported", why, { hint: "take a snapshot of its files instead" });
    await this.#parts.swept();
    return this.#counted(member.record.namespace, async () => {
      const keyName = `${checkpointKeys}${randomUUID()}`;
      const key = await keys.newKey(keyName);
      try {
        const asked = { caller, kind: "checkpoint", sandboxId } as const;
        return await creation.queue.with(asked, () => this.#create(caller, member, name, keyName, key));
      } catch (error) {
        await keys.dropKey(keyName);
        throw error;
      } finally {
        key.fill(0);
      }
    });
  }

  async #create(caller: Caller, member: Member, name: string, keyName: string, key: Buffer): Promise<CheckpointRecord> {
    const { creation, folder } = this.#parts;
    const { lifecycle, maker, egress, clock } = creation;
    const draft = await folder.draft(keyName);
    try {
      const sandbox = await lifecycle.running(member, caller);
      const { checkpoint, contexts } = await member.turn.take(async () => {
        await checkNoPlain(creation, member);
        return maker.copies.checkpoint(sandbox, { key, folder: draft });
      });
      const { namespace, id: sandboxId } = member.record;
      const who = { namespace, sandboxId, createdAtMs: clock.wallMs(), createdBy: caller.principal.id };
      const record: CheckpointRecord = { ...checkpoint, ...who, name, engine };
      const policy = egress?.ownPolicy(sandboxId) ?? null;
      const texts = JSON.stringify(contexts.map(contextToJson));
      await this.#keep(caller, member, draft, {
        ...record,
        ...{ keyName, sandbox: member.record, policy, contexts: texts },
      });
      return record;
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }

  /** There when its record is; where that cannot be written nothing is left. */
  async #keep(caller: Caller, member: Member, draft: string, kept: KeptCheckpoint): Promise<void> {
    const { creation, folder, records } = this.#parts;
    const { id, memoryBytes } = kept;
    try {
      if (Buffer.byteLength(kept.contexts) > checkpointLimits.contextBytes)
        throw new AppError("too_large", "the unread output of its code contexts is too large to save");
      await folder.add(draft, id);
      const data = { checkpoint_id: id, memory_bytes: memoryBytes };
      await creation.book.journal.record(
        { ...about(member.record, caller), type: "checkpoint.created", data },
        (within) => records.insert(kept, within),
      );
    } catch (error) {
      await this.#removeBytes(id);
      throw error;
    }
  }

  async list(
    { principal: { namespace } }: Caller,
    query: Omit<CheckpointQuery, "namespace">,
  ): Promise<CheckpointRecord[]> {
    return this.#parts.records.list({ ...query, namespace });
  }

  async get(caller: Caller, id: string): Promise<CheckpointRecord> {
    return this.#find(caller, id);
  }

  async restore(caller: Caller, id: string): Promise<SandboxRecord> {
    const { creation, folder, keys } = this.#parts;
    const record = await this.#find(caller, id);
    const { namespace, sandbox, keyName } = record;
    const policy = this.#policyNow(caller, record);
    creation.registry.reserve(namespace);
    try {
      using _share = await creation.shares.reserve(namespace, sandbox.limits.storageBytes);
      return await creation.queue.with({ caller, kind: "restore", sandboxId: sandbox.id }, async () => {
        const key = await keys.readKey(keyName);
        const contexts = (JSON.parse(record.contexts) as ContextJson[]).map(contextFromJson);
        const place = { key, folder: folder.of(id), ...rootOf(sandbox) };
        const kept = { checkpoint: record, contexts };
        const copy = await creation.maker.copies.restore(record.engine, kept, place).finally(() => key.fill(0));
        const like = { record: sandbox, origin: `checkpoint ${id} of ${sandbox.id}`, policy };
        try {
          return (await settleCopy(creation, caller, like, copy)).record;
        } catch (error) {
          await creation.removals.remove(copy.id, copy).catch(creation.onError);
          throw error;
        }
      });
    } finally {
      creation.registry.release(namespace);
    }
  }

  /** The original's as it is now: rules that were taken from it do not come back. Of one that is gone, what this caller may ask for itself. */
  #policyNow(caller: Caller, { sandboxId, policy }: KeptCheckpoint): EgressPolicy | null {
    const { egress, registry } = this.#parts.creation;
    if (registry.get(sandboxId) !== undefined) return egress?.ownPolicy(sandboxId) ?? null;
    return policy === null ? null : (egress?.check(caller, policy) ?? null);
  }

  /** Removes the record first, then the key: after a crash in between, nobody can open it. */
  async delete(caller: Caller, id: string): Promise<void> {
    const { creation, records, keys } = this.#parts;
    const { namespace, sandboxId, keyName } = await this.#find(caller, id);
    const deleted = {
      type: "checkpoint.deleted",
      by: caller,
      namespace,
      sandboxId,
      data: { checkpoint_id: id },
    } as const;
    await creation.book.journal.record(deleted, (within) => records.delete(id, within));
    await keys.dropKey(keyName);
    await this.#removeBytes(id);
  }

  /** Removes all checkpoints of a service whose keys end with it: nobody could open them. */
  async removeAll(): Promise<void> {
    const { records, creation } = this.#parts;
    for (const { id } of await records.names()) await this.#removeBytes(id).catch(creation.onError);
  }

  async #removeBytes(id: string): Promise<void> {
    await this.#parts.folder.remove(id);
    await this.#parts.creation.maker.copies.remove(engine, id);
  }

  async #find({ principal }: Caller, id: string): Promise<KeptCheckpoint> {
    const kept = await this.#parts.records.get(id);
    if (kept !== undefined && kept.namespace === principal.namespace) return kept;
    throw new AppError("not_found", `unknown checkpoint ${JSON.stringify(id).slice(0, 80)}`, {
      hint: "caisson checkpoint list lists checkpoints",
    });
  }

  async #counted<T>(namespace: string, make: () => Promise<T>): Promise<T> {
    const coming = (this.#coming.get(namespace) ?? 0) + 1;
    this.#coming.set(namespace, coming);
    try {
      const there = await this.#parts.records.count(namespace);
      if (there + coming > checkpointLimits.perNamespace)
        throw new AppError("limit_exceeded", `too many checkpoints in the namespace (limit: ${there})`, {
          hint: "delete unused checkpoints first: caisson checkpoint rm CHECKPOINT",
        });
      return await make();
    } finally {
      this.#coming.set(namespace, (this.#coming.get(namespace) ?? 1) - 1);
    }
  }
}

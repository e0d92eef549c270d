import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import type { CheckpointRecord, FleetCheckpoints } from "../../core/checkpoint.ts";
import type { EgressPolicy } from "../../core/egress.ts";
import { AppError } from "../../core/errors.ts";
import { checkpointLimits } from "../../core/fork-limits.ts";
import { Once } from "../../core/once.ts";
import type { Caller } from "../../core/principal.ts";
import type { SandboxRecord } from "../../core/sandbox-record.ts";
import type { SecretSource } from "../../core/secret.ts";
import { contextFromJson, contextToJson } from "../context-json.ts";
import { type About, CheckpointFolder } from "./checkpoint-folder.ts";
import type { CreationParts } from "./creation.ts";
import { checkNoPlain, reasonAgainstMemory } from "./forking.ts";
import { type Member, rootOf } from "./member.ts";
import { settleCopy } from "./settle-copy.ts";

const engine = "gvisor";

interface CheckpointParts {
  creation: CreationParts;
  folder: CheckpointFolder;
  keys: Pick<SecretSource, "newKey" | "readKey" | "dropKey">;
}

/** Checkpoints of a fleet's sandboxes: sealed by the engine, with keys of their own that lie in the vault (S75). */
export class CheckpointDesk implements FleetCheckpoints {
  readonly #parts: CheckpointParts;
  readonly #swept = new Once<void>();
  /** Being made, by namespace: they count before they are there. */
  readonly #coming = new Map<string, number>();

  constructor(parts: CheckpointParts) {
    this.#parts = parts;
  }

  async create(caller: Caller, sandboxId: string, name: string): Promise<CheckpointRecord> {
    const { creation, keys } = this.#parts;
    if (name.length > checkpointLimits.nameCharacters)
      throw new AppError("invalid", `a name has at most ${checkpointLimits.nameCharacters} characters`);
    const member = creation.registry.find(caller, sandboxId);
    const why = await reasonAgainstMemory(creation, member);
    if (why !== null) throw new AppError("unsupported", why, { hint: "take a snapshot of its files instead" });
    await this.#sweep();
    return this.#counted(member.record.namespace, async () => {
      const keyName = `checkpoint ${randomUUID()}`;
      const key = await keys.newKey(keyName);
      try {
        const { namespace } = member.record;
        return await creation.queue.with({ namespace }, () => this.#create(caller, member, name, keyName, key));
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
    const { lifecycle, maker, egress, clock, ledger } = creation;
    const draft = await folder.draft(keyName);
    const sandbox = await lifecycle.running(member, caller);
    try {
      const { checkpoint, contexts } = await member.turn.take(async () => {
        await checkNoPlain(creation, member);
        return maker.copies.checkpoint(sandbox, { key, folder: draft });
      });
      const { namespace, id: sandboxId } = member.record;
      const who = { namespace, sandboxId, createdAtMs: clock.wallMs(), createdBy: caller.principal.id };
      const record: CheckpointRecord = { ...checkpoint, ...who, name, engine };
      const policy = egress?.ownPolicy(sandboxId) ?? null;
      await folder.add(draft, {
        record,
        sandbox: member.record,
        policy,
        contexts: contexts.map(contextToJson),
        keyName,
      });
      const detail = { checkpoint_id: record.id, memory_bytes: record.memoryBytes };
      await ledger.update(member.record, {}, { type: "checkpoint.created", actor: caller, detail });
      return record;
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }

  async list({ principal }: Caller): Promise<CheckpointRecord[]> {
    const own = (await this.#parts.folder.list()).map(({ record }) => record);
    return own
      .filter(({ namespace }) => namespace === principal.namespace)
      .sort((left, right) => right.createdAtMs - left.createdAtMs || (left.id < right.id ? 1 : -1));
  }

  async get(caller: Caller, id: string): Promise<CheckpointRecord> {
    return (await this.#find(caller, id)).record;
  }

  async restore(caller: Caller, id: string): Promise<SandboxRecord> {
    const { creation, folder, keys } = this.#parts;
    const about = await this.#find(caller, id);
    const { record, sandbox, contexts: texts, keyName } = about;
    const { namespace } = record;
    const policy = this.#policyNow(caller, about);
    return creation.registry.reserve(namespace, () =>
      creation.queue.with({ namespace }, async () => {
        const key = await keys.readKey(keyName);
        const contexts = texts.map(contextFromJson);
        const place = { key, folder: folder.ownerOf(id), ...rootOf(sandbox) };
        const kept = { checkpoint: record, contexts };
        const copy = await creation.maker.copies.restore(record.engine, kept, place).finally(() => key.fill(0));
        const like = { record: sandbox, origin: `checkpoint ${id} of ${sandbox.id}`, policy };
        try {
          return (await settleCopy(creation, caller, like, copy)).record;
        } catch (error) {
          await creation.removals.remove(copy.id, copy).catch(creation.onError);
          throw error;
        }
      }),
    );
  }

  /** The original's as it is now: rules that were taken from it do not come back. Of one that is gone, what this caller may ask for itself. */
  #policyNow(caller: Caller, { record, policy }: About): EgressPolicy | null {
    const { egress, registry } = this.#parts.creation;
    if (registry.get(record.sandboxId) !== undefined) return egress?.ownPolicy(record.sandboxId) ?? null;
    return policy === null ? null : (egress?.check(caller, policy) ?? null);
  }

  /** What a namespace sees of it goes first, then the key: whatever happens then, nobody can open it. */
  async delete(caller: Caller, id: string): Promise<void> {
    const { creation, folder, keys } = this.#parts;
    const { record, sandbox, keyName } = await this.#find(caller, id);
    const { namespace, sandboxId } = record;
    const happened = { type: "checkpoint.deleted" as const, actor: caller, detail: { checkpoint_id: id } };
    await creation.ledger.note({ ...sandbox, namespace, id: sandboxId }, happened);
    await folder.remove(id);
    await keys.dropKey(keyName);
    await creation.maker.copies.remove(record.engine, id);
    creation.ledger.tell(namespace, sandboxId, "checkpoint.deleted", { checkpoint_id: id });
  }

  async #find({ principal }: Caller, id: string): Promise<About> {
    const about = await this.#parts.folder.read(id);
    if (about !== undefined && about.record.namespace === principal.namespace) return about;
    throw new AppError("not_found", `there is no checkpoint ${JSON.stringify(id).slice(0, 80)}`);
  }

  async #counted<T>(namespace: string, make: () => Promise<T>): Promise<T> {
    const coming = (this.#coming.get(namespace) ?? 0) + 1;
    this.#coming.set(namespace, coming);
    try {
      const there = (await this.#parts.folder.list()).filter(({ record }) => record.namespace === namespace).length;
      if (there + coming > checkpointLimits.perNamespace)
        throw new AppError("limit_exceeded", `the namespace has ${there} checkpoints already`, {
          hint: "delete some first",
        });
      return await make();
    } finally {
      this.#coming.set(namespace, (this.#coming.get(namespace) ?? 1) - 1);
    }
  }

  /** What a killed daemon left half-made, here and with the engine. */
  #sweep(): Promise<void> {
    return this.#swept.get(async () => {
      const { folder, creation } = this.#parts;
      await folder.sweep();
      const known = new Set((await folder.list()).map(({ record }) => record.id));
      for (const id of await creation.maker.copies.kept(engine))
        if (!known.has(id)) await creation.maker.copies.remove(engine, id);
    });
  }
}

const noVault = async () => {
  throw new AppError("unsupported", "there is no vault here that could keep a key");
};
const noKeys: CheckpointParts["keys"] = { newKey: noVault, readKey: noVault, dropKey: noVault };

export function openCheckpoints(
  creation: CreationParts,
  folder: string,
  keys: CheckpointParts["keys"] = noKeys,
): CheckpointDesk {
  return new CheckpointDesk({ creation, folder: new CheckpointFolder(folder), keys });
}

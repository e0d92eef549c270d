import type { Kysely } from "kysely";
import type { Clock } from "../../lib/clock.ts";
import { StoredBatch } from "../batch.ts";
import { auditLimits } from "../limits.ts";
import type { Schema } from "../schema.ts";
import type { SigningKey } from "../signing-key.ts";
import type { SqliteClient } from "../sqlite-client.ts";
import type { ChainHead, OpenedChain } from "../sqlite-protocol.ts";
import { signCheckpoint, signHead, toRow } from "./checkpoint.ts";
import { readHead, writeHead } from "./head-file.ts";

export interface KeeperParts {
  client: SqliteClient;
  db: Kysely<Schema>;
  signer: SigningKey;
  headPath: string;
  clock: Clock;
  /** Receives what kept a checkpoint from being made; it is tried again. */
  onError: (error: unknown) => void;
}

interface Kept {
  head: ChainHead;
  checkpoint: { sequence: number; atMs: number };
}

/**
 * Signs where the chains end: in the database every so many rows of a chain, and outside of it soon after each row, so that
 * a tail or a chain that is cut off is missed. The head outside follows what is on the disk and never leads it: neither a
 * kill -9 nor a loss of power makes it point past the end.
 */
export class ChainKeeper {
  readonly #parts: KeeperParts;
  readonly #chains = new Map<string, Kept>();
  /** Chains with rows that no checkpoint covers. */
  readonly #grown = new Set<string>();
  /** There are rows that the head outside does not name. */
  #isBehind = false;
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  private constructor(parts: KeeperParts, chains: readonly OpenedChain[]) {
    this.#parts = parts;
    for (const { head, checkpoint } of chains) {
      this.#chains.set(head.namespace, { head, checkpoint });
      if (head.sequence > checkpoint.sequence) this.#grown.add(head.namespace);
    }
  }

  static async open(parts: KeeperParts): Promise<{ keeper: ChainKeeper; chains: readonly OpenedChain[] }> {
    const { client, clock, signer, headPath } = parts;
    const head = (await readHead(headPath).catch(() => "unreadable" as const)) ?? "missing";
    const { rowKey, publicKey } = signer;
    const { chains } = await client.openAudit({ rowKey, publicKey, head, atMs: clock.wallMs() });
    const keeper = new ChainKeeper(parts, chains);
    await client.sync(); // what an earlier process left may be written by this one
    // The head first: from then on it is never missing, unless somebody took it away.
    await keeper.#writeHead();
    if (keeper.#grown.size > 0) keeper.alone(() => keeper.#settle(true)).catch(parts.onError);
    return { keeper, chains };
  }

  get namespaces(): string[] {
    return [...this.#chains.keys()];
  }

  appended(head: ChainHead): void {
    const { checkpoint } = this.#chains.get(head.namespace) ?? { checkpoint: { sequence: 0, atMs: 0 } };
    this.#chains.set(head.namespace, { head, checkpoint });
    this.#grown.add(head.namespace);
    this.#isBehind = true;
    this.#schedule(auditLimits.headMs);
  }

  #schedule(afterMs: number): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      this.settle(false).catch(this.#parts.onError);
    }, afterMs);
  }

  /** Signs what there is; in the database too when it is time, or when it is `final`. */
  settle(final: boolean): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isClosed ||= final;
    return this.alone(() => this.#settle(final));
  }

  /** One after the other: signing, pruning. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => undefined);
    return done;
  }

  async #settle(all: boolean): Promise<void> {
    if (!this.#isBehind && !all) return;
    this.#isBehind = false;
    try {
      let due = this.#due(all);
      do {
        await this.#insertCheckpoints(due.splice(0, auditLimits.checkpointsAtOnce));
        // The rest of many comes with the next head.
        if (!all && due.length > 0) {
          this.#isBehind = true;
          due = [];
        }
      } while (due.length > 0);
      await this.#writeHead();
    } catch (error) {
      this.#isBehind = true;
      this.#schedule(auditLimits.headRetryMs);
      throw error;
    }
    if (this.#isBehind) this.#schedule(auditLimits.headMs);
  }

  /** The chains that need a checkpoint. The first of a chain comes at once: a chain without any is never whole. */
  #due(all: boolean): Kept[] {
    const nowMs = this.#parts.clock.wallMs();
    const due: Kept[] = [];
    for (const namespace of this.#grown) {
      const kept = this.#chains.get(namespace);
      if (kept === undefined) continue;
      const { sequence, atMs } = kept.checkpoint;
      const waitedMs = nowMs - atMs;
      const isTime = waitedMs >= auditLimits.checkpointMs || waitedMs < 0 || sequence === 0;
      if (all || isTime || kept.head.sequence - sequence >= auditLimits.checkpointRows) due.push(kept);
    }
    return due;
  }

  async #insertCheckpoints(due: readonly Kept[]): Promise<void> {
    if (due.length === 0) return;
    const { db, signer, clock, client } = this.#parts;
    const atMs = clock.wallMs();
    const batch = new StoredBatch(client, clock);
    for (const { head, checkpoint } of due) {
      const { namespace, sequence, hash } = head;
      const previous = checkpoint.sequence;
      const row = toRow(signCheckpoint(signer, { kind: "checkpoint", namespace, sequence, hash, atMs, previous }));
      // One that stands there is of rows that were cut off.
      const insert = db.insertInto("audit_checkpoints").values(row);
      batch.write(insert.onConflict((it) => it.columns(["namespace", "kind", "sequence"]).doUpdateSet(row)).compile());
    }
    await batch.commit();
    for (const { head } of due) {
      const now = this.#chains.get(head.namespace);
      if (now === undefined) continue;
      now.checkpoint = { sequence: head.sequence, atMs };
      if (now.head.sequence <= head.sequence) this.#grown.delete(head.namespace);
    }
  }

  async #writeHead(): Promise<void> {
    const { client, signer, headPath, clock } = this.#parts;
    const chains = [...this.#chains.values()].map(({ head, checkpoint }) => ({
      namespace: head.namespace,
      sequence: head.sequence,
      hash: head.hash,
      previous: checkpoint.sequence,
    }));
    await client.sync();
    await writeHead(headPath, signHead(signer, { atMs: clock.wallMs(), chains }));
  }
}

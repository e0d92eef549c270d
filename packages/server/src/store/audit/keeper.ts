import type { Kysely } from "kysely";
import type { Clock } from "../../core/clock.ts";
import type { Signer } from "../../core/manifest.ts";
import { auditLimits } from "../../core/store-limits.ts";
import type { Schema } from "../schema.ts";
import type { SqliteClient } from "../sqlite-client.ts";
import type { ChainHead } from "../sqlite-protocol.ts";
import { brokenEntry } from "./broken-entry.ts";
import { signCheckpoint } from "./checkpoint.ts";
import { chainHead, hashAt, insertCheckpoint, newestCheckpoint } from "./checkpoint-rows.ts";
import { readHead, writeHead } from "./head-file.ts";

export interface KeeperParts {
  client: SqliteClient;
  db: Kysely<Schema>;
  signer: Signer;
  headPath: string;
  clock: Clock;
  /** Told when a checkpoint could not be made; it is tried again. */
  onError: (error: unknown) => void;
}

/**
 * Signs where the chain ends: in the database every so many rows, and outside of it soon after each row, so that a tail
 * that is cut off is missed. The head outside follows what is on the disk and never leads it: neither a kill -9 nor a
 * loss of power makes it point past the end.
 */
export class ChainKeeper {
  readonly #parts: KeeperParts;
  #head: ChainHead;
  #signed: ChainHead;
  #checkpoint: { sequence: number; atMs: number };
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  private constructor(parts: KeeperParts, head: ChainHead, checkpoint: { sequence: number; atMs: number }) {
    this.#parts = parts;
    this.#head = head;
    this.#signed = head;
    this.#checkpoint = checkpoint;
  }

  static async open(parts: KeeperParts): Promise<ChainKeeper> {
    const { db, client, clock } = parts;
    const last = await newestCheckpoint(db, "checkpoint");
    const found = await chainHead(db);
    const broken = await missing(parts, last === undefined && found.sequence === 0);
    if (broken !== undefined) await client.batch([{ op: "append", entry: brokenEntry(broken) }], clock.wallMs());
    const head = broken === undefined ? found : await chainHead(db);
    const keeper = new ChainKeeper(parts, head, last ?? { sequence: -1, atMs: 0 });
    client.onHead = (newer) => keeper.#appended(newer);
    await client.sync(); // what an earlier process left may be written by this one
    // The head first: from then on it is never missing, unless somebody took it away.
    await keeper.#writeHead(head);
    if (head.sequence > keeper.#checkpoint.sequence) {
      await keeper.#insertCheckpoint(head);
      keeper.alone(() => keeper.#writeHead(head)).catch(parts.onError); // a checkpoint that it does not name yet is none too many
    }
    return keeper;
  }

  #appended(head: ChainHead): void {
    if (head.sequence > this.#head.sequence) this.#head = head;
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

  async #settle(final: boolean): Promise<void> {
    const head = this.#head;
    if (head.sequence === this.#signed.sequence && !final) return;
    const { sequence, atMs } = this.#checkpoint;
    const rows = head.sequence - sequence;
    const waitedMs = this.#parts.clock.wallMs() - atMs;
    const due = rows >= auditLimits.checkpointRows || waitedMs >= auditLimits.checkpointMs || waitedMs < 0;
    try {
      if (rows > 0 && (final || due)) await this.#insertCheckpoint(head);
      await this.#parts.client.sync();
      await this.#writeHead(head);
    } catch (error) {
      this.#schedule(auditLimits.headRetryMs);
      throw error;
    }
    this.#signed = head;
    if (this.#head.sequence > head.sequence) this.#schedule(auditLimits.headMs);
  }

  async #insertCheckpoint({ sequence, hash }: ChainHead): Promise<void> {
    const { db, signer, clock } = this.#parts;
    const previous = Math.max(0, this.#checkpoint.sequence);
    const body = { kind: "checkpoint", sequence, hash, atMs: clock.wallMs(), previous } as const;
    await insertCheckpoint(db, signCheckpoint(signer, body));
    this.#checkpoint = { sequence, atMs: body.atMs };
  }

  async #writeHead({ sequence, hash }: ChainHead): Promise<void> {
    const { signer, headPath, clock } = this.#parts;
    const previous = Math.max(0, this.#checkpoint.sequence);
    await writeHead(headPath, signCheckpoint(signer, { kind: "head", sequence, hash, atMs: clock.wallMs(), previous }));
  }
}

/** What the head outside knows and the database does not have, in words; undefined when all is there. */
async function missing({ db, headPath }: KeeperParts, isNew: boolean): Promise<string | undefined> {
  const known = await readHead(headPath).catch(() => "unreadable" as const);
  if (known === "unreadable") return "the head outside the database could not be read";
  if (known === undefined) return isNew ? undefined : "the head outside the database was gone";
  const anchor = await newestCheckpoint(db, "anchor");
  if (anchor !== undefined && known.sequence < anchor.sequence) return undefined;
  const hash = await hashAt(db, known.sequence);
  if (hash === undefined) return `rows up to ${known.sequence} had been written and were gone`;
  return hash === known.hash ? undefined : `row ${known.sequence} was not the one that had been written`;
}

import type { DatabaseSync } from "node:sqlite";
import type { ChainVerdict, NotedRow } from "../../core/audit.ts";
import {
  type AuditHead,
  type ChainEnd,
  type Checkpoint,
  fromRow,
  type KnownKeys,
  signatureProblem,
} from "./checkpoint.ts";
import type { RowMac } from "./row-mac.ts";
import type { SqlRow } from "./row-problem.ts";

export interface VerifyInput {
  keys: KnownKeys;
  /** By the id of the signing key that they are derived from; of a log that is another's there are none. */
  macs: ReadonlyMap<string, RowMac>;
  /** The head outside the database, read before the database; "missing" is a finding, undefined is not looked at. */
  head?: AuditHead | "missing" | "unreadable" | undefined;
  /** What somebody noted of this log before. */
  expected?: readonly NotedRow[];
}

export type Note = (sequence: number | null, what: string) => void;

interface Claim {
  what: string;
  sequence: number;
  hash: string;
}

/** Compares the signed checkpoints of a chain, the head and what was noted elsewhere with the rows, as the walk comes by. */
export class CheckpointCheck {
  readonly #input: VerifyInput;
  readonly #note: Note;
  readonly #pruned: number;
  readonly #checkpoints: Iterator<Record<string, unknown>>;
  readonly #head: AuditHead | undefined;
  readonly #end: ChainEnd | undefined;
  #next: Checkpoint | undefined;
  #previous: number | undefined;
  #count = 0;
  #headLinked: boolean;
  #claims: Claim[] = [];
  /** The newest row that a good signature names. */
  signedThrough: number;

  constructor(db: DatabaseSync, input: VerifyInput, { namespace, pruned }: ChainVerdict, note: Note) {
    this.#input = input;
    this.#note = note;
    this.#pruned = pruned;
    this.signedThrough = pruned;
    this.#checkpoints = db
      .prepare("select * from audit_checkpoints where namespace = ? and kind <> 'anchor' order by sequence")
      .iterate(namespace)
      [Symbol.iterator]();
    this.#head = typeof input.head === "object" ? input.head : undefined;
    this.#end = this.#head?.chains.find((end) => end.namespace === namespace);
    this.#headLinked = this.#end === undefined || this.#end.previous <= pruned;
    if (this.#end !== undefined) {
      this.#claims.push({ what: "the head outside the database", ...this.#end });
      this.signedThrough = Math.max(pruned, this.#end.sequence);
    }
    for (const noted of input.expected ?? [])
      if (noted.namespace === namespace) this.#claims.push({ what: "what was noted of this log", ...noted });
    this.#claims = this.#claims.filter(({ sequence }) => sequence >= pruned);
    this.#advance();
  }

  /** The walk stands at a row. */
  at(sequence: number, hash: string): void {
    for (const claim of this.#claims) {
      if (claim.sequence === sequence && claim.hash !== hash) this.#note(sequence, `is not the row of ${claim.what}`);
    }
    while (this.#next !== undefined && this.#next.sequence <= sequence) {
      if (this.#next.sequence === sequence && this.#next.hash !== hash)
        this.#note(sequence, "is not the row that was signed in its checkpoint");
      this.#advance();
    }
  }

  /** A row of a signer whose own key is not here is as good as the signature over it. */
  macProblem({ position, sequence, hash, mac }: SqlRow): string | undefined {
    const { macs } = this.#input;
    if (macs.size === 0) return undefined;
    for (const own of macs.values()) if (own.of(Number(position), String(hash)) === mac) return undefined;
    const signer =
      this.#next?.keyId ?? (Number(sequence) <= (this.#end?.sequence ?? 0) ? this.#head?.keyId : undefined);
    if (signer !== undefined && !macs.has(signer)) return undefined;
    return "was not written by this daemon, or not at this position";
  }

  /** The walk has ended there. Returns how many checkpoints there are. */
  finish(last: number): number {
    for (; this.#next !== undefined; this.#advance()) {
      this.#note(last + 1, `is missing: the log went on at least to row ${this.#next.sequence}, says a checkpoint`);
    }
    for (const { what, sequence } of this.#claims) {
      if (sequence > last)
        this.#note(last + 1, `is missing: the log went on at least to row ${sequence}, says ${what}`);
    }
    // The first checkpoint follows the first row within the time of a head.
    if (this.#count === 0 && last > 0 && this.#pruned === 0 && this.#input.head === undefined)
      this.#note(null, "all checkpoints are missing");
    if (!this.#headLinked) this.#note(null, "the newest checkpoint is missing");
    return this.#count;
  }

  #advance(): void {
    const { value, done } = this.#checkpoints.next();
    this.#next = done === true ? undefined : fromRow(value);
    if (this.#next === undefined) return;
    const { sequence, previous } = this.#next;
    this.#count++;
    const problem = signatureProblem(this.#next, this.#input.keys);
    if (problem !== undefined) this.#note(sequence, `the checkpoint here ${problem}`);
    else this.signedThrough = Math.max(this.signedThrough, sequence);
    const isFirst = this.#pruned > 0 ? previous <= this.#pruned : previous === 0;
    const linked = this.#previous === undefined ? isFirst : previous === this.#previous;
    if (!linked) this.#note(sequence, "the checkpoint before the one here is missing");
    this.#previous = sequence;
    if (this.#end?.previous === sequence) this.#headLinked = true;
  }
}

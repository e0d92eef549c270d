import type { DatabaseSync } from "node:sqlite";
import { type Checkpoint, fromRow, type KnownKeys, signatureProblem } from "./checkpoint.ts";

export interface VerifyInput {
  keys: KnownKeys;
  /** The head outside the database, read before the database; "missing" is a finding, undefined is not looked at. */
  head: Checkpoint | "missing" | "unreadable" | undefined;
  /** What somebody noted of this log before. */
  expected?: { sequence: number; hash: string };
}

export type Note = (sequence: number | null, what: string) => void;

interface Claim {
  what: string;
  sequence: number;
  hash: string;
}

/** Holds the signed checkpoints, the head and what was noted elsewhere against the rows, as the walk comes by. */
export class CheckpointCheck {
  readonly #input: VerifyInput;
  readonly #note: Note;
  readonly #pruned: number;
  readonly #checkpoints: Iterator<Record<string, unknown>>;
  #next: Checkpoint | undefined;
  #previous: number | undefined;
  #count = 0;
  #headLinked: boolean;
  #claims: Claim[] = [];

  constructor(db: DatabaseSync, input: VerifyInput, pruned: number, note: Note) {
    this.#input = input;
    this.#note = note;
    this.#pruned = pruned;
    this.#checkpoints = db
      .prepare("select * from audit_checkpoints where kind <> 'anchor' order by sequence")
      .iterate()
      [Symbol.iterator]();
    this.#headLinked = this.#claimHead();
    if (input.expected !== undefined) this.#claims.push({ what: "what was noted of this log", ...input.expected });
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

  /** The walk has ended there. How many checkpoints there are. */
  finish(last: number): number {
    for (; this.#next !== undefined; this.#advance()) {
      this.#note(last + 1, `is missing: the log went on at least to row ${this.#next.sequence}, says a checkpoint`);
    }
    for (const { what, sequence } of this.#claims) {
      if (sequence > last)
        this.#note(last + 1, `is missing: the log went on at least to row ${sequence}, says ${what}`);
    }
    if (this.#count === 0 && last > 0 && this.#pruned === 0) this.#note(null, "all checkpoints are missing");
    if (!this.#headLinked) this.#note(null, "the newest checkpoint is missing");
    return this.#count;
  }

  #claimHead(): boolean {
    const { head, keys } = this.#input;
    if (head === undefined) return true;
    if (head === "missing" || head === "unreadable") {
      this.#note(null, `the head outside the database (audit-head.json) is ${head}`);
      return true;
    }
    const problem = signatureProblem(head, keys);
    if (problem !== undefined) this.#note(null, `the head outside the database ${problem}`);
    else this.#claims.push({ what: "the head outside the database", sequence: head.sequence, hash: head.hash });
    return problem !== undefined || head.previous <= this.#pruned;
  }

  #advance(): void {
    const { value, done } = this.#checkpoints.next();
    this.#next = done === true ? undefined : fromRow(value);
    if (this.#next === undefined) return;
    const { sequence, previous } = this.#next;
    this.#count++;
    const problem = signatureProblem(this.#next, this.#input.keys);
    if (problem !== undefined) this.#note(sequence, `the checkpoint here ${problem}`);
    const isFirst = this.#pruned > 0 ? previous <= this.#pruned : sequence === 0;
    const linked = this.#previous === undefined ? isFirst : previous === this.#previous;
    if (!linked) this.#note(sequence, "the checkpoint before the one here is missing");
    this.#previous = sequence;
    if (typeof this.#input.head === "object" && this.#input.head.previous === sequence) this.#headLinked = true;
  }
}

import type { DatabaseSync } from "node:sqlite";
import { auditLimits } from "../limits.ts";
import type { ChainHead, OpenedChain, OpenOrder } from "../sqlite-protocol.ts";
import { genesisHash, sizeOf } from "./chain.ts";
import { chainNames } from "./chain-names.ts";
import {
  type AuditHead,
  type ChainEnd,
  type Checkpoint,
  fromRow,
  type KnownKeys,
  signatureProblem,
} from "./checkpoint.ts";
import { setAside } from "./foreign-rows.ts";
import type { RowMac } from "./row-mac.ts";
import { rowProblem } from "./row-problem.ts";

interface OpenInput extends Pick<OpenOrder, "head" | "atMs"> {
  mac: RowMac;
  /** This daemon's own. */
  keys: KnownKeys;
}

export interface Found {
  chains: OpenedChain[];
  /** Of the newest row, or of one that was pruned. */
  position: number;
  /** What is wrong, for the log itself. */
  broken: { namespace: string; what: string }[];
}

type Base = Pick<Checkpoint, "sequence" | "hash">;

/**
 * Reads where each chain ends, and looks at each row behind the newest signature: a row without this daemon's MAC is set
 * aside with all that follow it, so that no signature of this daemon ever covers it.
 */
export function openChains(db: DatabaseSync, input: OpenInput): Found {
  const names = chainNames(db);
  const { head, trouble } = trustedHead(input, names.length === 0);
  const found: Found = { chains: [], position: lastPosition(db), broken: [] };
  if (trouble !== undefined) found.broken.push({ namespace: "system", what: trouble });
  const ends = new Map(head?.chains.map((end) => [end.namespace, end]));
  for (const namespace of new Set([...names, ...ends.keys()])) {
    const chain = new ChainAtStart(db, input, namespace, ends.get(namespace), head !== undefined);
    const missing = chain.missing();
    const foreign = chain.setForeignAside();
    for (const what of [missing, foreign]) if (what !== undefined) found.broken.push({ namespace, what });
    found.chains.push(chain.end());
  }
  return found;
}

/** The head outside, when this daemon signed it. */
function trustedHead({ head, keys }: OpenInput, isNew: boolean): { head?: AuditHead; trouble?: string } {
  if (head === "unreadable") return { trouble: "the head outside the database could not be read" };
  if (head === "missing") return isNew ? {} : { trouble: "the head outside the database was gone" };
  const problem = signatureProblem(head, keys);
  return problem === undefined ? { head } : { trouble: `the head outside the database ${problem}` };
}

function lastPosition(db: DatabaseSync): number {
  return Number(db.prepare("select seq from sqlite_sequence where name = 'audit'").get()?.seq ?? 0);
}

class ChainAtStart {
  readonly #db: DatabaseSync;
  readonly #input: OpenInput;
  readonly #namespace: string;
  readonly #end: ChainEnd | undefined;
  readonly #anchor: Checkpoint | undefined;
  readonly #checkpoint: Checkpoint | undefined;

  constructor(
    db: DatabaseSync,
    input: OpenInput,
    namespace: string,
    end: ChainEnd | undefined,
    isHeadTrusted: boolean,
  ) {
    this.#db = db;
    this.#input = input;
    this.#namespace = namespace;
    this.#end = end;
    this.#anchor = this.#newest("anchor", !isHeadTrusted);
    this.#checkpoint = this.#newest("checkpoint", !isHeadTrusted);
  }

  /** What the head outside knows and the database does not have, in words; undefined when all is there. */
  missing(): string | undefined {
    if (this.#end === undefined) return undefined;
    const { sequence, hash } = this.#end;
    if (sequence < (this.#anchor?.sequence ?? 0)) return undefined;
    const found = this.#hashAt(sequence);
    if (found === undefined) return `rows up to ${sequence} had been written and were gone`;
    return found === hash ? undefined : `row ${sequence} was not the one that had been written`;
  }

  setForeignAside(): string | undefined {
    const base = this.#base();
    let last: Base = base;
    const rows = this.#db.prepare("select * from audit where namespace = ? and sequence > ? order by sequence");
    let isForeign = false;
    for (const row of rows.iterate(this.#namespace, base.sequence)) {
      const isOwn = row.mac === this.#input.mac.of(Number(row.position), String(row.hash));
      isForeign = !isOwn || Number(row.sequence) !== last.sequence + 1 || rowProblem(row, last.hash) !== undefined;
      if (isForeign) break;
      last = { sequence: Number(row.sequence), hash: String(row.hash) };
    }
    if (!isForeign) return undefined;
    const count = setAside(this.#db, { namespace: this.#namespace, after: last.sequence, atMs: this.#input.atMs });
    return `${count} rows behind row ${last.sequence} were not written by this daemon, and were set aside`;
  }

  end(): OpenedChain {
    const namespace = this.#namespace;
    const { sequence = 0, atMs = 0 } = this.#checkpoint ?? {};
    return { head: this.#head(), checkpoint: { sequence, atMs }, floorBytes: this.#floorBytes(namespace) };
  }

  /** Up to there the rows are those that a signature names. */
  #base(): Base {
    const signed: Base[] = [this.#anchor, this.#checkpoint, this.#end].filter((base) => base !== undefined);
    const here = signed.filter(({ sequence, hash }) => this.#hashAt(sequence) === hash);
    return here.toSorted((a, b) => b.sequence - a.sequence)[0] ?? { sequence: 0, hash: genesisHash };
  }

  #head(): ChainHead {
    const namespace = this.#namespace;
    const last = this.#db
      .prepare(
        "select position, sequence, hash, chain_bytes from audit where namespace = ? order by sequence desc limit 1",
      )
      .get(namespace);
    if (last === undefined) {
      const { sequence = 0, hash = genesisHash } = this.#anchor ?? {};
      return { namespace, position: 0, sequence, hash, bytes: 0 };
    }
    const bytes = Number(last.chain_bytes);
    return {
      namespace,
      position: Number(last.position),
      sequence: Number(last.sequence),
      hash: String(last.hash),
      bytes,
    };
  }

  #floorBytes(namespace: string): number {
    const first = this.#db
      .prepare("select chain_bytes, detail from audit where namespace = ? order by sequence limit 1")
      .get(namespace);
    return first === undefined ? 0 : Number(first.chain_bytes) - sizeOf(String(first.detail));
  }

  #hashAt(sequence: number): string | undefined {
    const row = this.#db
      .prepare("select hash from audit where namespace = ? and sequence = ?")
      .get(this.#namespace, sequence);
    if (row !== undefined) return String(row.hash);
    return this.#anchor?.sequence === sequence ? this.#anchor.hash : undefined;
  }

  /**
   * The newest that this daemon signed. Where even the head outside is not this daemon's, its key may have been replaced:
   * then the newest of another key is as good, and the log says that the head was not this daemon's.
   */
  #newest(kind: "checkpoint" | "anchor", orOfAnotherKey: boolean): Checkpoint | undefined {
    const newestFirst = this.#db.prepare(
      "select * from audit_checkpoints where namespace = ? and kind = ? order by sequence desc limit ?",
    );
    const found = newestFirst.all(this.#namespace, kind, auditLimits.checkpointsTried).map(fromRow);
    const { keys } = this.#input;
    const own = found.find((checkpoint) => signatureProblem(checkpoint, keys) === undefined);
    return own ?? (orOfAnotherKey ? found.find(({ keyId }) => !keys.has(keyId)) : undefined);
  }
}

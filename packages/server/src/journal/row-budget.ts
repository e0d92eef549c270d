import { createHash, type Hash } from "node:crypto";
import type { AuditEntry } from "../core/audit.ts";
import { auditLimits } from "../store/limits.ts";
import { hasOwnBudget } from "./event-row.ts";

interface Spent {
  rows: number;
  /** The log says that further entries of this minute are counted. */
  isAnnounced: boolean;
  counts: Map<string, Count>;
}

interface Count {
  about: Pick<AuditEntry, "namespace" | "actor" | "sandboxId">;
  type: string;
  count: number;
  firstMs: number;
  lastMs: number;
  details: Hash;
}

/** `row`: it has a row. `first`: it is the first of its actor that is counted in this minute. */
export type Judgement = "row" | "first" | "counted";

/**
 * Rows that each actor has added in this minute, and counts of its entries past the budget (S107). What the daemon itself
 * records about a sandbox is the sandbox's doing, and counts as such.
 */
export class RowBudget {
  #actors = new Map<string, Spent>();
  #counts = 0;

  /** More actors or counts are not remembered: end the minute. */
  get isExhausted(): boolean {
    return this.#actors.size >= auditLimits.budgetActors || this.#counts >= auditLimits.budgetActors;
  }

  judge(entry: AuditEntry): Judgement {
    const spent = this.#spentBy(entry);
    if (spent.rows < auditLimits.budgetRows) {
      spent.rows++;
      return "row";
    }
    if (spent.isAnnounced) return "counted";
    spent.isAnnounced = true;
    return "first";
  }

  /** Takes back the announcement of a `first` that could not be written. */
  unannounce(entry: AuditEntry): void {
    this.#spentBy(entry).isAnnounced = false;
  }

  /** Counts what was judged so, once what belongs to it is stored. */
  count(entry: AuditEntry, atMs: number): void {
    const found = this.#countOf(entry, atMs);
    found.count++;
    found.lastMs = atMs;
    found.details.update(`${JSON.stringify(entry.detail)}\n`);
  }

  /** Returns the entries of all counts, and begins anew. */
  end(): AuditEntry[] {
    const counts = [...this.#actors.values()].flatMap((spent) => [...spent.counts.values()]);
    this.#actors = new Map();
    this.#counts = 0;
    return counts.map(entryOf);
  }

  #spentBy({ namespace, actor, sandboxId, type }: AuditEntry): Spent {
    const own = hasOwnBudget(type) ? type : null;
    const key = JSON.stringify([namespace, actor, actor === "system" ? sandboxId : null, own]);
    let spent = this.#actors.get(key);
    if (spent === undefined) {
      spent = { rows: 0, isAnnounced: false, counts: new Map() };
      this.#actors.set(key, spent);
    }
    return spent;
  }

  #countOf(entry: AuditEntry, atMs: number): Count {
    const { type, namespace, actor } = entry;
    const { counts } = this.#spentBy(entry);
    const known = counts.get(`${type} ${entry.sandboxId}`);
    if (known !== undefined) return known;
    const sandboxId = counts.size < auditLimits.budgetCounts ? entry.sandboxId : null;
    const key = `${type} ${sandboxId}`;
    const found = counts.get(key) ?? {
      about: { namespace, actor, sandboxId },
      type,
      count: 0,
      firstMs: atMs,
      lastMs: atMs,
      details: createHash("sha256"),
    };
    if (!counts.has(key)) this.#counts++;
    counts.set(key, found);
    return found;
  }
}

function entryOf({ about, type, count, firstMs, lastMs, details }: Count): AuditEntry {
  const detail = {
    type,
    count,
    first_at: new Date(firstMs).toISOString(),
    last_at: new Date(lastMs).toISOString(),
    details_sha256: details.digest("hex"),
  };
  return { ...about, type: "audit.repeated", requestId: null, detail };
}

import { setTimeout as sleep } from "node:timers/promises";
import type { AttemptEnd, EgressAttempt, EgressLog } from "../core/egress.ts";
import type { AttemptRecords } from "../core/egress-policies.ts";
import type { Recorder } from "../core/journal.ts";
import type { Clock } from "../lib/clock.ts";
import { egressLimits } from "./limits.ts";

export interface AttemptLogParts {
  records: AttemptRecords;
  journal: Recorder;
  clock: Clock;
  /** Whose a sandbox is; what is nobody's is the daemon's own. */
  namespaceOf: (sandboxId: string) => string | undefined;
  /** For tests. */
  sleep?: (ms: number) => Promise<unknown>;
  onError: (error: unknown) => void;
}

/** Each attempt in the audit log and, as long as there are not too many newer ones, in the log of its namespace. */
export class AttemptLog implements EgressLog {
  readonly #parts: AttemptLogParts;
  /** When each sandbox has paid for its attempts. */
  readonly #paidMs = new Map<string, number>();
  readonly #sincePruned = new Map<string, number>();

  private constructor(parts: AttemptLogParts) {
    this.#parts = parts;
  }

  static async open(parts: AttemptLogParts): Promise<AttemptLog> {
    await parts.records.closeOpen("the daemon ended before the connection did");
    return new AttemptLog(parts);
  }

  async attempted(attempt: EgressAttempt): Promise<void> {
    await this.#pace(attempt.sandboxId);
    const { records, journal, namespaceOf } = this.#parts;
    const namespace = namespaceOf(attempt.sandboxId) ?? "system";
    journal.requireRoom({ namespace });
    const { nameCharacters, reasonCharacters } = egressLimits;
    // A refused name is whatever a program said.
    const host = attempt.host.slice(0, nameCharacters);
    const reason = attempt.reason?.slice(0, reasonCharacters) ?? null;
    const { id, sandboxId, port, address, verdict, rule, layer, approvalId } = attempt;
    const data = { attempt_id: id, host, port, address, rule, layer, reason, approval_id: approvalId };
    await journal.record({ type: `egress.${verdict}`, by: "system", namespace, sandboxId, data }, (within) =>
      records.insert(namespace, { ...attempt, host, reason }, within),
    );
    this.#prune(namespace);
  }

  ended(_sandboxId: string, attemptId: string, end: AttemptEnd): void {
    const reason = end.reason?.slice(0, egressLimits.reasonCharacters) ?? null;
    this.#parts.records.settle(attemptId, { ...end, reason }).catch(this.#parts.onError);
  }

  /** A program that tries without end waits, so that it cannot fill the disk with the tale of it. */
  async #pace(sandboxId: string): Promise<void> {
    const { attemptsPerSecond, attemptBurst } = egressLimits;
    const now = this.#parts.clock.monotonicMs();
    for (const [id, paidMs] of this.#paidMs) {
      if (paidMs > now) break;
      this.#paidMs.delete(id);
    }
    const paidMs = Math.max(now, this.#paidMs.get(sandboxId) ?? 0) + 1000 / attemptsPerSecond;
    this.#paidMs.delete(sandboxId);
    this.#paidMs.set(sandboxId, paidMs);
    const waitMs = paidMs - now - (attemptBurst * 1000) / attemptsPerSecond;
    if (waitMs > 0) await (this.#parts.sleep ?? rest)(waitMs);
  }

  #prune(namespace: string): void {
    const count = (this.#sincePruned.get(namespace) ?? egressLimits.logSlack) + 1;
    this.#sincePruned.set(namespace, count > egressLimits.logSlack ? 0 : count);
    if (count > egressLimits.logSlack)
      this.#parts.records.prune(namespace, egressLimits.loggedAttempts).catch(this.#parts.onError);
  }
}

function rest(ms: number): Promise<void> {
  return sleep(ms, undefined, { ref: false });
}

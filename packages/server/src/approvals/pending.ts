import type { Approval } from "../core/approval.ts";
import { AppError } from "../core/errors.ts";
import { approvalLimits } from "./limits.ts";

/** A question under way, from before it is written down until it is settled. */
export interface Pending {
  readonly key: string;
  readonly namespace: string;
  readonly sandboxId: string | null;
  /** Undefined until it is written down. */
  approval?: Approval;
  /** As it is once it is written down, or how the same was answered before. */
  opened: Promise<Approval>;
  /** Attempts that have not given up. */
  attempts: number;
  asked: number;
  /** Whoever sets it settles the question, and nobody else does. Resolves when that is done, or has failed. */
  settling: Promise<void> | undefined;
  readonly settled: PromiseWithResolvers<Approval>;
  timer?: NodeJS.Timeout;
  /** Its time passed while somebody was settling it. */
  isOverdue: boolean;
}

/** The questions that wait for an answer, and how many there may be. */
export class PendingQuestions {
  readonly #byKey = new Map<string, Pending>();
  readonly #byId = new Map<string, Pending>();
  readonly #perNamespace = new Map<string, number>();
  /** When each sandbox and each namespace asked in the last minute. */
  readonly #recent = new Map<string, number[]>();

  get all(): Pending[] {
    return [...this.#byKey.values()];
  }

  withKey(key: string): Pending | undefined {
    return this.#byKey.get(key);
  }

  withId(id: string): Pending | undefined {
    return this.#byId.get(id);
  }

  /** Takes a place for a new question, or refuses. */
  reserve(key: string, namespace: string, sandboxId: string | null): Pending {
    this.#checkRoom(namespace, sandboxId);
    const settled = Promise.withResolvers<Approval>();
    const entry: Pending = {
      key,
      namespace,
      sandboxId,
      opened: settled.promise,
      attempts: 0,
      asked: 0,
      settling: undefined,
      isOverdue: false,
      settled,
    };
    this.#byKey.set(key, entry);
    this.#perNamespace.set(namespace, (this.#perNamespace.get(namespace) ?? 0) + 1);
    return entry;
  }

  /** From now on it can be decided. */
  publish(entry: Pending, approval: Approval): void {
    entry.approval = approval;
    this.#byId.set(approval.id, entry);
  }

  release(entry: Pending): void {
    if (this.#byKey.get(entry.key) !== entry) return;
    this.#byKey.delete(entry.key);
    if (entry.approval !== undefined) this.#byId.delete(entry.approval.id);
    const left = (this.#perNamespace.get(entry.namespace) ?? 1) - 1;
    if (left > 0) this.#perNamespace.set(entry.namespace, left);
    else this.#perNamespace.delete(entry.namespace);
  }

  /** Counts a new question against the minute of its sandbox and of its namespace. */
  countNew(namespace: string, sandboxId: string | null, nowMs: number): void {
    const { minuteMs, askedPerMinute, askedPerMinuteOfNamespace } = approvalLimits;
    const sinceMs = nowMs - minuteMs;
    for (const [name, times] of this.#recent) if ((times.at(-1) ?? 0) <= sinceMs) this.#recent.delete(name);
    const counted = [
      { name: JSON.stringify([namespace, sandboxId]), most: askedPerMinute },
      { name: JSON.stringify([namespace]), most: askedPerMinuteOfNamespace },
    ].map(({ name, most }) => ({ name, most, times: (this.#recent.get(name) ?? []).filter((ms) => ms > sinceMs) }));
    for (const { most, times } of counted) if (times.length >= most) throw tooMany(most, (times[0] ?? nowMs) - sinceMs);
    for (const { name, times } of counted) this.#recent.set(name, [...times, nowMs]);
  }

  #checkRoom(namespace: string, sandboxId: string | null): void {
    const { pending, pendingPerNamespace, pendingPerSandbox } = approvalLimits;
    if (this.#byKey.size >= pending) throw full(pending, "of this daemon");
    if ((this.#perNamespace.get(namespace) ?? 0) >= pendingPerNamespace)
      throw full(pendingPerNamespace, "of this namespace");
    const own = this.all.filter((entry) => entry.namespace === namespace && entry.sandboxId === sandboxId).length;
    const whose = sandboxId === null ? "about the whole namespace" : "of this sandbox";
    if (own >= pendingPerSandbox) throw full(pendingPerSandbox, whose);
  }
}

function tooMany(most: number, retryAfterMs: number): AppError {
  return new AppError("limit_exceeded", `too many approval requests (limit: ${most} per minute)`, {
    hint: "request only what is needed: a human reads each request",
    retryAfterMs,
  });
}

function full(most: number, whose: string): AppError {
  return new AppError("limit_exceeded", `too many pending approval requests ${whose} (limit: ${most})`, {
    hint: "wait until some are decided or expire",
    retryAfterMs: approvalLimits.minuteMs,
  });
}

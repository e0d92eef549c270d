/** Where questions to humans are asked, waited for and decided (NET-09). Each is settled once, whoever comes at the same time. */
import type {
  Approval,
  ApprovalEffects,
  ApprovalQuery,
  ApprovalRecords,
  ApprovalSettings,
  Approvals,
  Decision,
  Question,
} from "../core/approval.ts";
import { approvalLimits } from "../core/approval-limits.ts";
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import { type Caller, requirePermission } from "../core/principal.ts";
import { refused } from "../core/refusal.ts";
import { holds, scopeOf, settledAlready } from "./decision.ts";
import { ended } from "./ended.ts";
import { type Pending, PendingQuestions } from "./pending.ts";
import { checkQuestion, digestOf, keyOf, newApproval, timeoutOf } from "./question.ts";
import { raced } from "./raced.ts";
import { type ApprovalNews, logApproval, publishApproval, type TellParts } from "./tell-approval.ts";
import { Waiters } from "./waiters.ts";

export interface DeskParts extends TellParts {
  records: ApprovalRecords;
  clock: Clock;
  settings: ApprovalSettings;
  effects?: ApprovalEffects;
  /** Told of what went wrong beside a call's own result. */
  onError: (error: unknown) => void;
}

type Outcome = Pick<Approval, "scope" | "reason"> & { state: Exclude<Approval["state"], "pending"> };

export class ApprovalDesk implements Approvals, AsyncDisposable {
  readonly #parts: DeskParts;
  readonly #pending = new PendingQuestions();
  readonly #waiters = new Waiters();
  readonly #pruning: NodeJS.Timeout;
  #closed = false;

  private constructor(parts: DeskParts) {
    this.#parts = parts;
    const prune = () => void this.#prune().catch(parts.onError);
    this.#pruning = setInterval(prune, approvalLimits.pruneIntervalMs).unref();
  }

  /** Whoever waited for what an earlier daemon was asked is gone. */
  static async open(parts: DeskParts): Promise<ApprovalDesk> {
    const desk = new ApprovalDesk(parts);
    const changes = { state: "expired", reason: ended.restarted } as const;
    for (const left of await parts.records.pending())
      await desk.#write({ ...left, ...changes }, changes, "expired", undefined);
    await desk.#prune();
    return desk;
  }

  get attended(): boolean {
    return this.#parts.settings.attended;
  }

  get holdMs(): number {
    return this.#parts.settings.holdMs;
  }

  ask(question: Question): Promise<Approval> {
    return this.#join(question, undefined);
  }

  async request(caller: Caller, question: Omit<Question, "namespace">): Promise<Approval> {
    requirePermission(caller.principal, "use");
    return this.#join({ ...question, namespace: caller.principal.namespace }, caller);
  }

  /** One question for all who ask the same. An attempt is counted from here on, so that a yes for once is not lost on its way. */
  async #join(question: Question, caller: Caller | undefined): Promise<Approval> {
    this.#checkOpen(question);
    checkQuestion(question);
    const timeoutMs = timeoutOf(question, this.#parts.settings.timeoutMs);
    const digest = digestOf(question);
    const key = keyOf({ ...question, digest });
    const attempt = caller === undefined ? 1 : 0;
    for (;;) {
      const known = this.#pending.withKey(key);
      if (known === undefined) {
        const entry = this.#pending.reserve(key, question.namespace, question.sandboxId);
        entry.asked = 1;
        entry.attempts = attempt;
        entry.opened = this.#openQuestion(entry, { ...question, timeoutMs }, digest, caller);
        return entry.opened;
      }
      if (known.settling !== undefined) {
        await known.settling;
        continue;
      }
      if (known.attempts + attempt > approvalLimits.attempts)
        throw new AppError("limit_exceeded", `${approvalLimits.attempts} attempts wait for this answer already`);
      known.asked++;
      known.attempts += attempt;
      const opened = await known.opened;
      if (known.approval !== undefined) return known.approval;
      if (opened.scope !== "once") return opened;
    }
  }

  async #openQuestion(
    entry: Pending,
    question: Question & { timeoutMs: number },
    digest: string,
    caller: Caller | undefined,
  ): Promise<Approval> {
    const { records, clock } = this.#parts;
    try {
      const answered = await this.#answered({ ...question, digest }, caller);
      if (answered !== undefined) {
        this.#pending.release(entry);
        return answered;
      }
      this.#pending.countNew(question.namespace, question.sandboxId, clock.monotonicMs());
      const approval = newApproval(question, digest, clock.wallMs(), caller);
      this.#pending.publish(entry, approval);
      await both(records.insert(approval), logApproval(this.#parts, approval, "requested", caller));
      entry.timer = setTimeout(() => this.#late(entry), question.timeoutMs);
      publishApproval(this.#parts, approval, "requested");
      if (this.#closed) this.#expire(entry, ended.stopped);
      return approval;
    } catch (error) {
      this.#pending.release(entry);
      throw error;
    }
  }

  /** How the same was answered before, with its one use taken where it has one and this is an attempt. */
  async #answered(
    question: Pick<Approval, "namespace" | "kind" | "sandboxId" | "digest">,
    caller: Caller | undefined,
  ): Promise<Approval | undefined> {
    const { records, clock } = this.#parts;
    for (;;) {
      const nowMs = clock.wallMs();
      const found = await records.standing(question, nowMs - approvalLimits.onceMs);
      if (found === undefined || found.scope !== "once" || caller !== undefined) return found;
      if (!(await records.use(found.id, nowMs))) continue;
      const used = { ...found, usedAtMs: nowMs };
      await logApproval(this.#parts, used, "used", undefined);
      return used;
    }
  }

  async settled(id: string, signal?: AbortSignal): Promise<Approval> {
    const entry = this.#pending.withId(id);
    if (entry?.approval === undefined) return this.#stored(id);
    const settled = await raced(entry.settled.promise, signal);
    if (settled !== undefined) return settled;
    entry.attempts--;
    return entry.approval;
  }

  async wait(caller: Caller, id: string, timeoutMs: number, signal?: AbortSignal): Promise<Approval> {
    const found = await this.get(caller, id);
    const entry = this.#pending.withId(id);
    if (entry === undefined) return found.state === "pending" ? this.get(caller, id) : found;
    return this.#waiters.with(caller.principal.namespace, async () => {
      const over = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]);
      return (await raced(entry.settled.promise, over)) ?? (await this.get(caller, id));
    });
  }

  async get({ principal }: Caller, id: string): Promise<Approval> {
    const found = await this.#parts.records.get(id);
    if (found?.namespace !== principal.namespace) throw unknown(id);
    return this.#current(found);
  }

  async list({ principal }: Caller, query: ApprovalQuery): Promise<Approval[]> {
    const found = await this.#parts.records.list({ ...query, namespace: principal.namespace });
    return found.map((one) => this.#current(one));
  }

  async decide(caller: Caller, id: string, decision: Decision): Promise<Approval> {
    requirePermission(caller.principal, "operate");
    const found = await this.get(caller, id);
    const scope = scopeOf(found, decision);
    if (scope !== "once") await this.#checkStanding(found.namespace);
    const entry = this.#pending.withId(id);
    await entry?.opened;
    if (entry?.approval === undefined || entry.settling !== undefined) throw settledAlready(await this.get(caller, id));
    const state = decision.approve ? "approved" : "denied";
    return this.#settle(entry, entry.approval, { state, scope, reason: decision.reason ?? null }, caller);
  }

  async revoke(caller: Caller, id: string): Promise<Approval> {
    requirePermission(caller.principal, "operate");
    const found = await this.get(caller, id);
    if (!holds(found)) throw new AppError("conflict", `approval ${id} is no answer that holds`);
    if (found.scope !== "once" && this.#parts.effects?.[found.kind] !== undefined)
      throw new AppError("conflict", `approval ${id} has become a rule of the policy`, {
        hint: "take the rule out of the policy: caisson egress shows it",
      });
    const revokedAtMs = this.#parts.clock.wallMs();
    const revoked = { ...found, revokedAtMs };
    await this.#write(revoked, { revokedAtMs }, "revoked", caller);
    return revoked;
  }

  /** Sandboxes whose questions are pending. */
  askers(): string[] {
    return [...new Set(this.#pending.all.flatMap(({ sandboxId }) => sandboxId ?? []))];
  }

  /** Withdraws what a sandbox that is gone has asked. */
  async cancelFor(sandboxId: string): Promise<void> {
    const own = this.#pending.all.filter((entry) => entry.sandboxId === sandboxId);
    await this.#endAll(own, { state: "cancelled", scope: null, reason: ended.destroyed });
  }

  /** Also those that are just being written down, or decided. */
  async #endAll(entries: readonly Pending[], outcome: Outcome): Promise<void> {
    const end = async (entry: Pending) => {
      const opened = await entry.opened.catch(() => undefined);
      await entry.settling;
      if (opened !== undefined) await this.#end(entry, outcome);
    };
    await Promise.all(entries.map(end));
  }

  #late(entry: Pending): void {
    entry.isOverdue = true;
    this.#expire(entry, ended.late);
  }

  #expire(entry: Pending, reason: string): void {
    void this.#end(entry, { state: "expired", scope: null, reason });
  }

  /** Whoever waits is told even when it cannot be written: no answer is a no. */
  async #end(entry: Pending, outcome: Outcome): Promise<void> {
    const { approval } = entry;
    if (approval === undefined || entry.settling !== undefined) return;
    await this.#settle(entry, approval, outcome, undefined).catch((error: unknown) => {
      this.#finish(entry, { ...approval, ...outcome });
      this.#parts.onError(error);
    });
  }

  /** Only while nobody else settles it: from here on nobody can. When it fails the question is pending as before. */
  async #settle(entry: Pending, approval: Approval, outcome: Outcome, caller: Caller | undefined): Promise<Approval> {
    const { promise, resolve } = Promise.withResolvers<void>();
    entry.settling = promise;
    try {
      await this.#hold(approval, outcome, caller);
      const nowMs = this.#parts.clock.wallMs();
      const isUsed = outcome.state === "approved" && outcome.scope === "once" && entry.attempts > 0;
      const changes = {
        ...outcome,
        decidedBy: caller?.principal.id ?? null,
        decidedAtMs: nowMs,
        usedAtMs: isUsed ? nowMs : null,
        asked: entry.asked,
      };
      await this.#write({ ...approval, ...changes }, changes, outcome.state, caller);
      return this.#finish(entry, { ...approval, ...changes });
    } catch (error) {
      entry.settling = undefined;
      if (entry.isOverdue && caller !== undefined) this.#expire(entry, ended.late);
      throw error;
    } finally {
      resolve();
    }
  }

  async #hold(approval: Approval, { state, scope }: Outcome, caller: Caller | undefined): Promise<void> {
    if (caller === undefined || scope === null || scope === "once") return;
    await this.#parts.effects?.[approval.kind]?.hold(approval, { approve: state === "approved", scope }, caller);
  }

  #finish(entry: Pending, settled: Approval): Approval {
    clearTimeout(entry.timer);
    this.#pending.release(entry);
    entry.approval = settled;
    entry.settled.resolve(settled);
    return settled;
  }

  /** Store and log, then events: what this resolves would survive a kill -9. */
  async #write(
    approval: Approval,
    changes: Partial<Approval>,
    news: Exclude<ApprovalNews, "requested" | "used">,
    caller: Caller | undefined,
  ): Promise<void> {
    await both(this.#parts.records.update(approval.id, changes), logApproval(this.#parts, approval, news, caller));
    publishApproval(this.#parts, approval, news);
  }

  async #stored(id: string): Promise<Approval> {
    const found = await this.#parts.records.get(id);
    if (found === undefined) throw unknown(id);
    return this.#current(found);
  }

  /** Pending is what this process knows to be: of the rest nobody would hear an answer. */
  #current(stored: Approval): Approval {
    if (stored.state !== "pending") return stored;
    const entry = this.#pending.withId(stored.id);
    return entry === undefined
      ? { ...stored, state: "expired", reason: ended.late }
      : { ...stored, asked: entry.asked };
  }

  async #checkStanding(namespace: string): Promise<void> {
    const most = approvalLimits.standingPerNamespace;
    if ((await this.#parts.records.countStanding(namespace)) < most) return;
    throw new AppError("limit_exceeded", `a namespace has ${most} lasting answers at most`, {
      hint: "revoke some: caisson approvals revoke ID",
    });
  }

  #checkOpen(question: Question): void {
    if (this.#closed) throw new AppError("unavailable", "the daemon is shutting down", { retryAfterMs: 5_000 });
    if (!this.attended)
      throw refused({
        kind: question.kind,
        what: question.subject,
        why: "it takes a human's approval, and nobody attends this place",
        rule: null,
      });
  }

  #prune(): Promise<void> {
    return this.#parts.records.prune(this.#parts.clock.wallMs() - approvalLimits.keptMs);
  }

  /** All who wait are told that nobody will answer. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    clearInterval(this.#pruning);
    await this.#endAll(this.#pending.all, { state: "expired", scope: null, reason: ended.stopped });
  }
}

function unknown(id: string): AppError {
  return new AppError("not_found", `there is no approval ${id.slice(0, 64)}`);
}

async function both(stored: Promise<void>, logged: Promise<void>): Promise<void> {
  const failed = (await Promise.allSettled([stored, logged])).find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

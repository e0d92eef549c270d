/** A question to a human, and its answer. One mechanism for all that asks. */
import type { ApprovalKind } from "./approval-kinds.ts";
import type { Batch } from "./batch.ts";
import type { Caller } from "./principal.ts";

export const approvalStates = ["pending", "approved", "denied", "expired", "cancelled"] as const;
export type ApprovalState = (typeof approvalStates)[number];

/** How far an answer reaches: this attempt, this sandbox as long as it lives, or the whole namespace from now on. */
export const approvalScopes = ["once", "sandbox", "always"] as const;
export type ApprovalScope = (typeof approvalScopes)[number];

type ApprovalDetail = Readonly<Record<string, string | number | boolean | null>>;

export interface Question {
  kind: ApprovalKind;
  namespace: string;
  /** Null: it concerns the whole namespace, and its kind says which scopes an answer can have. */
  sandboxId: string | null;
  /** The run that it was asked for; absent where there is none. */
  runId?: string;
  /** Short: `api.example.com:443`. Two pending questions of a sandbox with the same one are one. */
  subject: string;
  /** All that a human should see, where the subject shows a part. */
  text?: string;
  /** Text that an answer applies to, where that is more than text or subject. */
  compared?: string;
  /** Details that an approver needs to decide; never secrets. Parts that sandboxed code chose may be misleading. */
  detail: ApprovalDetail;
  timeoutMs?: number;
}

export interface Approval extends Omit<Question, "timeoutMs" | "text" | "compared" | "runId"> {
  id: string;
  /** The first run that asked; null for what no run asked. */
  runId: string | null;
  text: string | null;
  /** SHA-256, in hex, of what is compared. */
  digest: string;
  state: ApprovalState;
  createdAtMs: number;
  expiresAtMs: number;
  scope: ApprovalScope | null;
  reason: string | null;
  /** The key that asked; null when code in a sandbox did. */
  askedBy: string | null;
  decidedBy: string | null;
  decidedAtMs: number | null;
  /** When the attempt went ahead that a yes for once is good for. */
  usedAtMs: number | null;
  /** From then on the answer holds no more. */
  revokedAtMs: number | null;
  /** How many attempts have asked the same. */
  asked: number;
}

export interface Decision {
  approve: boolean;
  /** `once` unless told. A no for the sandbox or for always is not asked about again. */
  scope?: ApprovalScope;
  reason?: string;
}

/**
 * Makes an answer hold beyond its attempt, where more than the memory of it is needed: a rule in a policy, which then
 * decides without asking. A kind without one is answered by the approval itself when the same is asked again.
 */
export interface ApprovalEffect {
  /** Returns the decision that is already in force, for requests in advance; undefined when a human must decide. */
  known?(question: Omit<Question, "timeoutMs">): { approve: boolean; reason: string } | undefined;
  /** Refuses, as an AppError for whoever decides, an answer that would have no effect. */
  check?(approval: Approval, answer: { approve: boolean; scope: ApprovalScope }): void;
  /** Refuses, as an AppError for whoever decides, what must not hold: the question stays pending then. */
  hold(approval: Approval, answer: { approve: boolean; scope: "sandbox" | "always" }, by: Caller): Promise<void>;
  /** Ends that; it may have ended already. */
  release(approval: Approval, answer: { approve: boolean; scope: "sandbox" | "always" }, by: Caller): Promise<void>;
}
export type ApprovalEffects = Readonly<Partial<Record<ApprovalKind, ApprovalEffect>>>;

export interface ApprovalQuery {
  state?: ApprovalState;
  kind?: ApprovalKind;
  sandboxId?: string;
  /** Asked for by this run. */
  runId?: string;
  cursor?: string;
  limit: number;
}

export interface ApprovalSettings {
  /** True when a human can answer. */
  attended: boolean;
  /** How long a question waits, unless it says so itself. */
  timeoutMs: number;
  holdMs: number;
}

export interface Approvals {
  /** True when a human can answer; in unattended mode `ask` refuses at once. */
  readonly attended: boolean;
  /** How long an attempt should wait by itself; the question may go on after that, and the next attempt finds its answer. */
  readonly holdMs: number;
  /**
   * By an attempt that waits for the answer with `settled`. Writes the question down, tells of it, and returns it pending, or
   * as it was decided before. Resolves fast. Throws `forbidden` in unattended mode and `limit_exceeded` past a limit: both
   * are refusals.
   */
  ask(question: Question): Promise<Approval>;
  /** Resolves once it is no longer pending, or as it is when the signal aborts: the question stays, but this attempt has given up. */
  settled(id: string, signal?: AbortSignal): Promise<Approval>;
  /** By somebody who will try later. A yes for once is then good for the next attempt. */
  request(caller: Caller, question: Omit<Question, "namespace">): Promise<Approval>;
  /** As it is when it is decided, the time is over, or the signal aborts. */
  wait(caller: Caller, id: string, timeoutMs: number, signal?: AbortSignal): Promise<Approval>;
  get(caller: Caller, id: string): Promise<Approval>;
  /** Newest first. */
  list(caller: Caller, query: ApprovalQuery): Promise<Approval[]>;
  /** By somebody who may operate the namespace. A question that is no longer pending is a conflict. */
  decide(caller: Caller, id: string, decision: Decision): Promise<Approval>;
  /** Ends what an answer for the sandbox or for always allows, or forbids. */
  revoke(caller: Caller, id: string): Promise<Approval>;
}

/** Those that are kept. */
export interface ApprovalRecords {
  insert(approval: Approval, within?: Batch): Promise<void>;
  get(id: string): Promise<Approval | undefined>;
  list(query: ApprovalQuery & { namespace: string }): Promise<Approval[]>;
  /** The answer that holds for a question: a no before a yes, then the widest; a yes for once when it is unused and not older than `sinceMs`. */
  standing(
    question: Pick<Approval, "namespace" | "kind" | "sandboxId" | "digest">,
    scopes: readonly ApprovalScope[],
    sinceMs: number,
  ): Promise<Approval | undefined>;
  /** How many answers of a namespace hold for a sandbox or for always. */
  countStanding(namespace: string, kind: ApprovalKind): Promise<number>;
  /** Takes the one use of it; false when it was taken already. */
  use(id: string, atMs: number, within?: Batch): Promise<boolean>;
  update(id: string, changes: Partial<Omit<Approval, "id" | "namespace">>, within?: Batch): Promise<void>;
  pending(): Promise<Approval[]>;
  /** Revokes all answers for a sandbox. */
  forget(sandboxId: string, atMs: number, within?: Batch): Promise<void>;
  /** Removes those made before, and of each namespace all but the newest; what is pending or still holds stays. */
  prune(beforeMs: number, keep: number): Promise<void>;
}

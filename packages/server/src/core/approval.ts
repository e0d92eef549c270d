/** A question to a human, and its answer. One mechanism for all that asks. */
import type { Caller } from "./principal.ts";

export const approvalKinds = ["egress", "upload", "command", "host"] as const;
export type ApprovalKind = (typeof approvalKinds)[number];

export const approvalStates = ["pending", "approved", "denied", "expired", "cancelled"] as const;
export type ApprovalState = (typeof approvalStates)[number];

/** How far a yes reaches: this attempt, this sandbox as long as it lives, or the whole namespace from now on. */
export const approvalScopes = ["once", "sandbox", "always"] as const;
export type ApprovalScope = (typeof approvalScopes)[number];

export interface Question {
  kind: ApprovalKind;
  namespace: string;
  sandboxId: string | null;
  /** Short and comparable: `api.example.com:443`, `git push *`. Two pending questions with the same one are one. */
  subject: string;
  /** What a human needs to decide; never contents or secrets. */
  detail: Readonly<Record<string, string | number | boolean | null>>;
  timeoutMs?: number;
}

export interface Approval extends Omit<Question, "timeoutMs"> {
  id: string;
  state: ApprovalState;
  createdAtMs: number;
  expiresAtMs: number;
  scope: ApprovalScope | null;
  reason: string | null;
  decidedBy: string | null;
  decidedAtMs: number | null;
  /** How many attempts have asked the same. */
  asked: number;
}

export interface Decision {
  approve: boolean;
  scope?: ApprovalScope;
  reason?: string;
}

export interface Approvals {
  /** Whether anybody may be asked at all; in unattended mode nobody is, and `ask` refuses at once. */
  readonly attended: boolean;
  /**
   * Writes the question down, tells of it, and returns it pending, or as it was decided before for the sandbox or for always.
   * Resolves fast: the answer is waited for with `settled`.
   */
  ask(question: Question): Promise<Approval>;
  /** Resolves with the approval once it is no longer pending; the signal gives up waiting, and cancels the question when nobody else waits. */
  settled(id: string, signal?: AbortSignal): Promise<Approval>;
  get(caller: Caller, id: string): Promise<Approval>;
  list(caller: Caller, query: { state?: ApprovalState; cursor?: string; limit: number }): Promise<Approval[]>;
  /** By somebody who may operate the namespace. A question that is no longer pending is a conflict. */
  decide(caller: Caller, id: string, decision: Decision): Promise<Approval>;
}

import type { Approval, Approvals } from "../core/approval.ts";
import { approvalKinds } from "../core/approval-kinds.ts";
import type { EventReader, Journal } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";

const types = [
  "approval.requested",
  "approval.approved",
  "approval.denied",
  "approval.expired",
  "approval.cancelled",
] as const;

export interface QuestionWatchParts {
  caller: Caller;
  parts: { approvals: Pick<Approvals, "get">; journal: Pick<Journal, "read"> };
  /** The sandboxes that the call works in. */
  used: ReadonlySet<string>;
  /** Questions that some call puts to its user: each is put once. */
  claimed: Set<string>;
  /** Whether a request waits at the call, on which a question can be put. */
  isAttended: () => boolean;
  asked: (approval: Approval) => void;
  /** Somebody has answered it, here or elsewhere, or nobody will. */
  settled: (id: string) => void;
}

/** Sees the questions that come up while a call runs: of its sandboxes, or asked by its own caller for the whole namespace. */
export class QuestionWatch implements AsyncDisposable {
  readonly #parts: QuestionWatchParts;
  readonly #reader: EventReader;
  readonly #own = new Set<string>();
  /** Questions that came up while nobody waited: other calls may put them, or this one when its client is back. */
  readonly #passed = new Set<string>();
  readonly #reading: Promise<void>;

  constructor(parts: QuestionWatchParts) {
    this.#parts = parts;
    this.#reader = parts.parts.journal.read({ namespace: parts.caller.principal.namespace, types });
    this.#reading = this.#follow();
  }

  async #follow(): Promise<void> {
    for await (const event of this.#reader) {
      if (event.type === "events.lag") continue; // what was missed waits for an answer by CLI or REST
      if (!("approval_id" in event.data)) continue;
      const id = String(event.data.approval_id);
      if (event.type !== "approval.requested") {
        if (this.#own.has(id)) this.#parts.settled(id);
      } else if (event.sandbox_id === null || this.#parts.used.has(event.sandbox_id)) await this.#look(id);
    }
  }

  /** A request waits again. */
  async attend(): Promise<void> {
    for (const id of [...this.#passed]) await this.#look(id);
  }

  async #look(id: string): Promise<void> {
    const { caller, parts, claimed, isAttended, asked } = this.#parts;
    this.#passed.delete(id);
    const approval = await parts.approvals.get(caller, id).catch(() => undefined);
    if (approval?.state !== "pending" || claimed.has(id)) return;
    if (approval.sandboxId === null && askerOf(approval) !== caller.principal.id) return;
    if (!isAttended()) return void this.#passed.add(id);
    claimed.add(id);
    this.#own.add(id);
    asked(approval);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reader[Symbol.dispose]();
    await this.#reading;
    for (const id of this.#own) this.#parts.claimed.delete(id);
  }
}

/** The key that asked, or whose attempt did. */
function askerOf({ kind, askedBy, detail }: Approval): unknown {
  const { asker } = approvalKinds[kind];
  return askedBy ?? (asker === undefined ? null : detail[asker]);
}

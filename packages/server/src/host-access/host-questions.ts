import { approvalLimits } from "../approvals/limits.ts";
import type { Approvals } from "../core/approval.ts";
import { refused, whyOf } from "../core/policy-refusal.ts";
import { keepNewest } from "../lib/keep-newest.ts";

interface HostQuestion {
  namespace: string;
  /** The command, quoted: a pattern that matches it alone. */
  subject: string;
  rule: string | null;
  /** The key whose attempt it is. */
  askedBy: string;
}

/** Puts commands on the host to a human. Attempts that come to the same one wait for one answer, and a yes for once is for one of them. */
export class HostQuestions {
  readonly #approvals: Approvals;
  /** Answers for once that an attempt has gone ahead with. */
  readonly #taken = new Set<string>();

  constructor(approvals: Approvals) {
    this.#approvals = approvals;
  }

  /** Waits for a while. Resolves with the approval's id; throws the refusal. */
  async ask(question: HostQuestion, signal: AbortSignal | undefined): Promise<string> {
    const { namespace, subject, rule, askedBy } = question;
    const approvals = this.#approvals;
    const refusal = { kind: "host", what: "this command", rule } as const;
    if (subject.length > approvalLimits.subjectChars)
      throw refused({ ...refusal, why: "it takes a human's approval, and is too long to be shown to one" });
    const waits = [AbortSignal.timeout(approvals.holdMs), ...(signal === undefined ? [] : [signal])];
    const over = AbortSignal.any(waits);
    for (;;) {
      const detail = { rule, asked_by: askedBy };
      const asked = await approvals.ask({ kind: "host", namespace, sandboxId: null, subject, detail });
      const answer = asked.state === "pending" ? await approvals.settled(asked.id, over) : asked;
      if (answer.state !== "approved") throw refused({ ...refusal, why: whyOf(answer), approval: answer });
      if (answer.scope !== "once" || this.#take(answer.id)) return answer.id;
    }
  }

  #take(id: string): boolean {
    if (this.#taken.has(id)) return false;
    this.#taken.add(id);
    keepNewest(this.#taken, approvalLimits.pending);
    return true;
  }
}

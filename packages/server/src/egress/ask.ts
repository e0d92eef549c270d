import type { Approval, Approvals, Question } from "../core/approval.ts";
import type { Destination } from "../core/egress.ts";
import { gateLimits } from "../core/gate-limits.ts";

/** Who is asked on behalf of one sandbox. */
export interface Asking {
  approvals: Approvals;
  namespace: string;
}

export type Answer =
  | { state: "approved"; approvalId: string }
  | { state: "refused"; approvalId: string | null; reason: string };

const sentences = {
  denied: "a human has denied it",
  expired: "nobody has approved it in time",
  cancelled: "the question was taken back",
  pending: "it was not decided",
} as const;

/** Asks, and waits as long as the question stands; the signal is the sandbox's end. At most so many questions wait at once. */
export class Asker {
  readonly #asking: () => Asking | undefined;
  readonly #sandboxId: string;
  readonly #signal: AbortSignal;
  #waiting = 0;

  constructor(sandboxId: string, asking: () => Asking | undefined, signal: AbortSignal) {
    this.#sandboxId = sandboxId;
    this.#asking = asking;
    this.#signal = signal;
  }

  get attended(): boolean {
    return this.#asking()?.approvals.attended === true;
  }

  async ask(kind: "egress" | "upload", { host, port }: Destination, detail: Question["detail"]): Promise<Answer> {
    const asking = this.#asking();
    if (asking?.approvals.attended !== true)
      return { state: "refused", approvalId: null, reason: "no rule knows it, and nobody is there to be asked" };
    if (this.#waiting >= gateLimits.waiting)
      return { state: "refused", approvalId: null, reason: `${gateLimits.waiting} others wait for an answer already` };
    const { approvals, namespace } = asking;
    this.#waiting++;
    try {
      const subject = `${host}:${port}`;
      const asked = await approvals.ask({ kind, namespace, sandboxId: this.#sandboxId, subject, detail });
      return read(asked.state === "pending" ? await approvals.settled(asked.id, this.#signal) : asked);
    } finally {
      this.#waiting--;
    }
  }
}

function read({ id, state, reason }: Approval): Answer {
  if (state === "approved") return { state: "approved", approvalId: id };
  const sentence = sentences[state];
  return { state: "refused", approvalId: id, reason: reason === null ? sentence : `${sentence}: ${reason}` };
}

import type { Approval, Approvals, Question } from "../core/approval.ts";
import type { Destination } from "../core/egress.ts";
import { messageOf } from "../core/errors.ts";
import { whyOf } from "../core/policy-refusal.ts";
import { gateLimits } from "./gate-limits.ts";

/** Who is asked on behalf of one sandbox. */
export interface ApprovalSource {
  approvals: Approvals;
  namespace: string;
}

export type AskOutcome =
  | { state: "approved"; approval: Approval }
  | { state: "refused"; approval?: Approval | undefined; reason: string };

/** Asks, and waits for a while; the question may stand longer. At most so many attempts of a sandbox wait at once. */
export class Asker {
  readonly #asking: () => ApprovalSource | undefined;
  readonly #sandboxId: string;
  readonly #signal: AbortSignal;
  #waiting = 0;

  constructor(sandboxId: string, asking: () => ApprovalSource | undefined, signal: AbortSignal) {
    this.#sandboxId = sandboxId;
    this.#asking = asking;
    this.#signal = signal;
  }

  get attended(): boolean {
    return this.#asking()?.approvals.attended === true;
  }

  async ask(kind: "egress" | "upload", { host, port }: Destination, detail: Question["detail"]): Promise<AskOutcome> {
    const asking = this.#asking();
    if (asking?.approvals.attended !== true)
      return { state: "refused", reason: "no rule knows it, and nobody is there to be asked" };
    if (this.#waiting >= gateLimits.waiting)
      return { state: "refused", reason: `${gateLimits.waiting} others wait for an answer already` };
    const { approvals, namespace } = asking;
    this.#waiting++;
    try {
      const subject = `${host}:${port}`;
      const asked = await approvals.ask({ kind, namespace, sandboxId: this.#sandboxId, subject, detail });
      const over = AbortSignal.any([this.#signal, AbortSignal.timeout(approvals.holdMs)]);
      return read(asked.state === "pending" ? await approvals.settled(asked.id, over) : asked);
    } catch (error) {
      return { state: "refused", reason: messageOf(error) };
    } finally {
      this.#waiting--;
    }
  }
}

function read(approval: Approval): AskOutcome {
  if (approval.state === "approved") return { state: "approved", approval };
  return { state: "refused", approval, reason: whyOf(approval) };
}

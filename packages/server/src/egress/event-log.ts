import type { AttemptEnd, EgressAttempt, EgressLog } from "../core/egress.ts";
import type { Happening } from "../core/event.ts";

/** Tells of attempts to leave where nobody keeps them: with the library, and on the command line. */
export class EventLog implements EgressLog {
  readonly #tell: (happening: Happening) => void;

  constructor(tell: (happening: Happening) => void) {
    this.#tell = tell;
  }

  async attempted({ id, sandboxId, verdict, host, port, address, rule, reason }: EgressAttempt): Promise<void> {
    this.#tell({ type: `egress.${verdict}`, sandboxId, attemptId: id, host, port, address, rule, reason });
  }

  ended(sandboxId: string, attemptId: string, end: AttemptEnd): void {
    this.#tell({ type: "egress.ended", sandboxId, attemptId, ...end });
  }
}

import type { AttemptEnd, EgressAttempt, EgressLog } from "../core/egress.ts";
import type { Happening } from "../core/journal.ts";

/** Tells of attempts to leave where nobody keeps them: with the library, and on the command line. */
export class EventLog implements EgressLog {
  readonly #tell: (happening: Happening) => void;

  constructor(tell: (happening: Happening) => void) {
    this.#tell = tell;
  }

  async attempted({ id, sandboxId, verdict, host, port, address, rule, reason }: EgressAttempt): Promise<void> {
    const data = { attempt_id: id, host, port, address, rule, reason };
    this.#tell({ type: `egress.${verdict}`, sandboxId, data });
  }

  ended(sandboxId: string, attempt_id: string, { bytesUp, bytesDown, durationMs, reason }: AttemptEnd): void {
    const data = { attempt_id, bytes_up: bytesUp, bytes_down: bytesDown, duration_ms: durationMs, reason };
    this.#tell({ type: "egress.ended", sandboxId, data });
  }
}

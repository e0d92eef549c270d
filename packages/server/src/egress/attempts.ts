import { randomUUID } from "node:crypto";
import type { Destination, EgressAttempt, EgressLog } from "../core/egress.ts";
import type { ConnectionRefusal } from "./connection-refusal.ts";
import { gateLimits } from "./gate-limits.ts";
import type { RefusalWatches } from "./refusal-watches.ts";

export interface AttemptsParts {
  sandboxId: string;
  log: EgressLog;
  watches: RefusalWatches;
  nowMs: () => number;
}

/** Writes down what one sandbox tries (NET-11). Connections may be gone before that is done: what waits is bounded here. */
export class Attempts {
  readonly #parts: AttemptsParts;
  #writing = 0;
  /** Refusals that the log had no room for since one was last written. */
  #unwritten = 0;

  constructor(parts: AttemptsParts) {
    this.#parts = parts;
  }

  get isFull(): boolean {
    return this.#writing >= gateLimits.attempts;
  }

  make({ host, port }: Destination, address: string | null) {
    const { sandboxId, nowMs } = this.#parts;
    const totals = { bytesUp: 0, bytesDown: 0, startedAtMs: nowMs(), durationMs: 0 };
    return { id: randomUUID(), sandboxId, host, port, address, ...totals };
  }

  async write(attempt: EgressAttempt): Promise<void> {
    this.#writing++;
    try {
      await this.#parts.log.attempted(attempt);
    } finally {
      this.#writing--;
    }
  }

  /** Shows a refusal to the runs that go on meanwhile. */
  show(refusal: ConnectionRefusal): void {
    this.#parts.watches.add(refusal, refusal.destination);
  }

  /** A refusal stands whether or not it can be written down. */
  async writeRefusal(refusal: ConnectionRefusal, address: string | null): Promise<void> {
    this.show(refusal);
    const { kind, destination, reason, rule, layer, approval } = refusal;
    if (this.isFull) return void this.#unwritten++;
    const more =
      this.#unwritten === 0 ? "" : ` (and ${this.#unwritten} more before it that were refused and not written down)`;
    this.#unwritten = 0;
    const verdict = kind === "failed" ? "failed" : "denied";
    const approvalId = approval?.id ?? null;
    const attempt = {
      ...this.make(destination, address),
      verdict,
      rule,
      layer,
      reason: reason + more,
      approvalId,
    } as const;
    await this.write(attempt).catch(() => undefined);
  }

  ended(
    { id, startedAtMs }: EgressAttempt,
    totals: { bytesUp: number; bytesDown: number },
    reason: string | null,
  ): void {
    const { sandboxId, log, nowMs } = this.#parts;
    const { bytesUp, bytesDown } = totals;
    log.ended(sandboxId, id, { bytesUp, bytesDown, durationMs: Math.max(0, nowMs() - startedAtMs), reason });
  }
}

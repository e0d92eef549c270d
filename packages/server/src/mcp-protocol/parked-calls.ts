import type { Approval } from "../core/approval.ts";
import { AppError } from "../core/errors.ts";
import { randomId } from "../lib/random-id.ts";
import { mcpLimits } from "./limits.ts";

/** A call that goes on while its client is away. */
interface Parkable {
  /** The client will not come back. */
  lose(reason: AppError): unknown;
  cancel(reason: AppError): void;
}

interface ParkedCall<Run extends Parkable> {
  run: Run;
  /** Client that called, and its call: only the same call of the same client resumes it. */
  owner: string;
  call: string;
  questions: readonly Approval[];
}

/** Calls whose client was sent away with a question (2026-07-28): they go on meanwhile, and end when nobody comes back. */
export class ParkedCalls<Run extends Parkable> implements Disposable {
  readonly #parked = new Map<string, ParkedCall<Run> & { timer: NodeJS.Timeout }>();

  hasRoom(owner: string): boolean {
    if (this.#parked.size >= mcpLimits.parked) return false;
    const own = [...this.#parked.values()].filter((parked) => parked.owner === owner).length;
    return own < mcpLimits.parkedPerKey;
  }

  put(parked: ParkedCall<Run>): string {
    const id = randomId(18, "base64url");
    const timer = setTimeout(() => {
      this.#parked.delete(id);
      void parked.run.lose(new AppError("timeout", "the client sent no answer in time"));
    }, mcpLimits.parkedMs).unref();
    this.#parked.set(id, { ...parked, timer });
    return id;
  }

  /** Once: whoever brings the same again has no part in it. */
  take(id: string, owner: string, call: string): ParkedCall<Run> {
    const parked = this.#parked.get(id);
    if (parked === undefined || parked.owner !== owner || parked.call !== call)
      throw new AppError("conflict", "no such call waits for an answer", {
        hint: "it was answered or expired: call the tool again",
      });
    clearTimeout(parked.timer);
    this.#parked.delete(id);
    return parked;
  }

  [Symbol.dispose](): void {
    for (const { run, timer } of this.#parked.values()) {
      clearTimeout(timer);
      run.cancel(new AppError("unavailable", "the daemon is shutting down"));
    }
    this.#parked.clear();
  }
}

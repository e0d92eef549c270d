import { AppError } from "../core/errors.ts";
import { gatewayLimits } from "./limits.ts";
import type { Answer, Id } from "./message.ts";
import type { Peer } from "./upstream.ts";

interface Waiting {
  peer: Peer;
  /** The client's own. */
  id: Id;
  /** The client's progress token; undefined: it wants no progress. */
  token: unknown;
  endless: boolean;
  mostMs: number | undefined;
}

/** A request that its server has not answered yet: how long it may take, and who waits. */
export class PendingRequest {
  readonly peer: Peer;
  readonly id: Id;
  readonly token: unknown;
  readonly isEndless: boolean;
  readonly answer: Promise<Answer>;
  readonly #done = Promise.withResolvers<Answer>();
  readonly #over = new AbortController();
  readonly #quiet: NodeJS.Timeout | undefined;
  readonly #deadline: NodeJS.Timeout | undefined;
  /** Questions of the server that its client has not answered: the server waits, not the client. */
  #questions = 0;
  #isSettled = false;
  #isLeft = false;

  constructor({ peer, id, token, endless, mostMs = gatewayLimits.callMs }: Waiting) {
    this.peer = peer;
    this.id = id;
    this.token = token;
    this.isEndless = endless;
    this.answer = this.#done.promise;
    this.answer.catch(() => undefined); // whoever waits for it gets the error
    if (endless) return;
    const quietMs = Math.min(gatewayLimits.quietMs, mostMs);
    this.#quiet = setTimeout(() => {
      if (this.#questions > 0) this.#quiet?.refresh();
      else this.leave(late(`without progress for ${quietMs / 1_000} s`));
    }, quietMs).unref();
    this.#deadline = setTimeout(() => this.leave(late(`for ${mostMs / 1_000} s`)), mostMs).unref();
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** True if it ended on this side, and the server has to hear of that. */
  get isLeft(): boolean {
    return this.#isLeft;
  }

  /** Aborted with its end. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** The server works on it. */
  touch(): void {
    this.#quiet?.refresh();
  }

  /** The server waits for its client meanwhile. */
  pause(): void {
    this.#questions += 1;
  }

  resume(): void {
    this.#questions -= 1;
    this.touch();
  }

  settle(answer: Answer): void {
    this.#end();
    this.#done.resolve(answer);
  }

  fail(error: unknown): void {
    if (!this.#isSettled) this.#isLeft = error instanceof AppError && error.code === "timeout";
    this.#end();
    this.#done.reject(error);
  }

  leave(reason: AppError): void {
    if (!this.#isSettled) this.#isLeft = true;
    this.#end();
    this.#done.reject(reason);
  }

  #end(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#quiet);
    clearTimeout(this.#deadline);
    this.#over.abort();
  }
}

function late(how: string): AppError {
  return new AppError("timeout", `the server worked on the call ${how}; the call is cancelled, its outcome is unknown`);
}

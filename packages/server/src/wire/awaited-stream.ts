import { constants } from "node:os";
import { AppError, type ErrorCode } from "../core/errors.ts";
import { WireViolation } from "./frame.ts";
import { parseExit } from "./stream.ts";
import type { StreamEnd } from "./stream-end.ts";

interface Outcome {
  /** Where it was reached, and which listener's it is. Called once, and then nothing more. */
  connected(spot: number, listener: number): void;
  failed(error: AppError): void;
}

const codes: Readonly<Record<string, ErrorCode>> = {
  EADDRINUSE: "conflict",
  EACCES: "forbidden",
  EPERM: "forbidden",
  EINVAL: "invalid",
  EMFILE: "limit_exceeded",
  ENOSPC: "limit_exceeded",
};

/** What a guest said of something about connections that it could not do. */
export function refusal(what: string, errno: number): AppError {
  const name = Object.entries(constants.errno).find(([, number]) => number === errno)?.[0] ?? `errno ${errno}`;
  return new AppError(codes[name] ?? "unavailable", `${what}: ${name}`, { details: { errno: name } });
}

/** A stream before there is a connection: a small thing, of which every sandbox has some. */
export class AwaitedStream implements StreamEnd {
  readonly id: number;
  readonly #what: string;
  readonly #outcome: Outcome;
  #settled = false;

  constructor(id: number, what: string, outcome: Outcome) {
    this.id = id;
    this.#what = what;
    this.#outcome = outcome;
  }

  onStarted(spot: number, payload: Buffer): void {
    if (payload.length !== 4) throw new WireViolation(`a connection with ${payload.length} bytes about it`);
    if (this.#settle()) this.#outcome.connected(spot, payload.readUInt32LE(0));
  }

  onExit(payload: Buffer): void {
    this.fail(refusal(this.#what, parseExit(payload).startError ?? 0));
  }

  fail(error: AppError): void {
    if (this.#settle()) this.#outcome.failed(error);
  }

  #settle(): boolean {
    const first = !this.#settled;
    this.#settled = true;
    return first;
  }

  onData(): void {
    throw new WireViolation("data before there is a connection");
  }

  onCredit(): void {
    throw new WireViolation("credit before there is a connection");
  }

  onEnd(): void {
    // Comes before the exit of one that could not be made.
  }
}

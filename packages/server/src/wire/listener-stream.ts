import type { AppError } from "../core/errors.ts";
import type { Tunnel } from "../core/tunnel.ts";
import { refusal } from "./awaited-stream.ts";
import { WireViolation } from "./frame.ts";
import { unpackSpot } from "./spot.ts";
import { parseExit } from "./stream.ts";
import type { StreamEnd } from "./stream-end.ts";

/** A place inside the sandbox at which its guest listens. */
export class ListenerStream implements StreamEnd {
  readonly id: number;
  readonly spot: number;
  readonly ready: Promise<void>;
  /** Whether this owner has asked for it. */
  claimed = false;
  take: ((tunnel: Tunnel) => void) | undefined;
  readonly #gate = Promise.withResolvers<void>();

  readonly #ended: () => void;

  constructor(id: number, spot: number, ended: () => void, listens = false) {
    this.#ended = ended;
    this.id = id;
    this.spot = spot;
    this.ready = this.#gate.promise;
    this.ready.catch(() => undefined);
    if (listens) this.#gate.resolve();
  }

  onStarted(): void {
    this.#gate.resolve();
  }

  onExit(payload: Buffer): void {
    const { address, port } = unpackSpot(this.spot);
    this.#ended();
    this.fail(refusal(`cannot listen at ${address}:${port} of the sandbox`, parseExit(payload).startError ?? 0));
  }

  fail(error: AppError): void {
    this.#gate.reject(error);
  }

  onData(): void {
    throw new WireViolation("data of a listener");
  }

  onCredit(): void {
    throw new WireViolation("credit of a listener");
  }

  onEnd(): void {
    // Comes before the exit of one that could not listen.
  }
}

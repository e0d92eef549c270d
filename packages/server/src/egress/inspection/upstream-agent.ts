import { Agent, type ClientRequest } from "node:http";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { requestBy } from "../dialer.ts";
import { gateLimits } from "../gate-limits.ts";
import type { RequestChannel } from "../request-channel.ts";

type Made = (error: Error | null, socket: Duplex) => void;

/** A host's connection for the requests of one program's: one at a time, in their order, and kept between them. */
export class UpstreamAgent extends Agent {
  #first: TLSSocket | undefined;
  readonly #again: () => Promise<TLSSocket>;

  constructor(first: TLSSocket, again: () => Promise<TLSSocket>) {
    super({ keepAlive: true, maxSockets: 1, maxFreeSockets: 1, timeout: gateLimits.idleMs });
    this.#first = first;
    this.#again = again;
  }

  override createConnection(_options: object, made?: Made): TLSSocket | undefined {
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined && !first.destroyed && first.readable) return first;
    this.#again().then(
      (socket) => made?.(null, socket),
      (error: Error) => made?.(error, undefined as never),
    );
    return undefined;
  }

  /** `why`: what broke the connection that is used. */
  next(why: () => Error | null): RequestChannel {
    let request: ClientRequest | undefined;
    return {
      request: (options) => (request = requestBy(this, options)),
      done: () => undefined,
      destroy: (error) => void request?.destroy(error),
      get errored() {
        return why();
      },
    };
  }

  override destroy(): void {
    this.#first?.destroy();
    super.destroy();
  }
}

import { redactionLimits } from "../core/limits.ts";
import type { RedactionStream } from "../core/redaction.ts";

type Give = (piece: Buffer) => Promise<void> | undefined;

/** One output channel without the values bound to its sandbox (S43). What little is held back goes out when nothing more comes. */
export class CleanChannel {
  readonly #stream: RedactionStream;
  readonly #give: Give;
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: RedactionStream, give: Give) {
    this.#stream = stream;
    this.#give = give;
  }

  /** Undefined when all that may go out is done with. What is held back is a copy. */
  push(chunk: Buffer): Promise<unknown> | undefined {
    const wait = this.#giveAll(this.#stream.push(chunk));
    clearTimeout(this.#timer);
    if (this.#stream.heldBytes > 0)
      this.#timer = setTimeout(() => this.#giveAll(this.#stream.release()), redactionLimits.idleMs).unref();
    return wait;
  }

  end(): Promise<unknown> | undefined {
    clearTimeout(this.#timer);
    return this.#giveAll(this.#stream.end());
  }

  #giveAll(pieces: readonly Buffer[]): Promise<unknown> | undefined {
    const waits = pieces.map(this.#give).filter((wait) => wait !== undefined);
    return waits.length === 0 ? undefined : Promise.all(waits);
  }
}

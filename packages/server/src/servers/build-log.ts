import type { BuildMessage } from "../core/server.ts";
import { serverLimits } from "./limits.ts";

/** Messages of one build, for those who follow it from its beginning; the oldest output makes room. */
export class BuildLog {
  #messages: BuildMessage[] = [];
  /** Number of the first message that is kept. */
  #first = 0;
  #bytes = 0;
  #changed = Promise.withResolvers<void>();

  add(message: BuildMessage): void {
    this.#messages.push(message);
    this.#bytes += sizeOf(message);
    while (this.#bytes > serverLimits.buildLogBytes && this.#messages.length > 1) {
      const oldest = this.#messages.shift();
      this.#first += 1;
      if (oldest !== undefined) this.#bytes -= sizeOf(oldest);
    }
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Ends with the build, or when `gone` is aborted. */
  async *follow(gone: AbortSignal): AsyncGenerator<BuildMessage> {
    const left = Promise.withResolvers<void>();
    const leave = () => left.resolve();
    gone.addEventListener("abort", leave, { once: true });
    try {
      for (let at = 0; !gone.aborted; ) {
        const { promise } = this.#changed;
        at = Math.max(at, this.#first);
        const message = this.#messages[at - this.#first];
        if (message === undefined) {
          await Promise.race([promise, left.promise]);
          continue;
        }
        at += 1;
        yield message;
        if (message.type === "end") return;
      }
    } finally {
      gone.removeEventListener("abort", leave);
    }
  }
}

function sizeOf(message: BuildMessage): number {
  return message.type === "log" ? message.data.length : 64;
}

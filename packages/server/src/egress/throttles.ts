import type { LayeredPolicy } from "../core/egress.ts";
import { AppError } from "../core/errors.ts";
import type { Asker } from "./ask.ts";
import type { AllowedDestination } from "./firewall.ts";
import { RateLimit } from "./rate-limit.ts";
import type { Throttle } from "./upstream-connection.ts";

/** Delays the bytes of a sandbox: by its rate, for all connections together, and uploads that a human must let out (NET-15, NET-17). */
export class Throttles {
  readonly #asker: Asker;
  readonly #up = new RateLimit();
  readonly #down = new RateLimit();

  constructor(asker: Asker) {
    this.#asker = asker;
  }

  /** The lowest rate of all layers counts. */
  follow(layers: LayeredPolicy): void {
    const rates = layers.flatMap(({ policy }) => policy.bytesPerSecond ?? []);
    const rate = rates.length === 0 ? null : Math.min(...rates);
    this.#up.bytesPerSecond = rate;
    this.#down.bytesPerSecond = rate;
  }

  of(allowed: AllowedDestination): Throttle {
    const most = allowed.verdict.rule.uploadAskBytes ?? Number.POSITIVE_INFINITY;
    let sent = 0;
    let mayExceed = false;
    return {
      up: (bytes) => {
        sent += bytes;
        if (mayExceed || sent <= most) return wait(this.#up.take(bytes, performance.now()));
        mayExceed = true;
        return this.#askUpload(allowed, most);
      },
      down: (bytes) => wait(this.#down.take(bytes, performance.now())),
    };
  }

  async #askUpload({ destination }: AllowedDestination, mostBytes: number): Promise<void> {
    const answer = await this.#asker.ask("upload", destination, { ...destination, mostBytes });
    if (answer.state === "refused")
      throw new AppError("forbidden", `upload of more than ${mostBytes} bytes: ${answer.reason}`);
  }
}

function wait(ms: number): Promise<void> | undefined {
  return ms <= 0 ? undefined : new Promise((resolve) => setTimeout(resolve, ms));
}

import { readFileSync } from "node:fs";
import { AppError } from "../../core/errors.ts";
import { checkpointLimits } from "../../core/fork-limits.ts";

const mebibytes = (bytes: number) => `${Math.ceil(bytes / 1024 ** 2)} MiB`;

/**
 * The machine's memory, promised before it is taken: saved memory counts against no sandbox's limit, and where the machine has
 * none left the kernel ends whom it likes (S76). What is promised is given back once it is taken, and seen there.
 */
export class MemoryRoom {
  readonly #availableBytes: () => number;
  #promisedBytes = 0;

  constructor(availableBytes: () => number = readAvailableBytes) {
    this.#availableBytes = availableBytes;
  }

  get promisedBytes(): number {
    return this.#promisedBytes;
  }

  /** At once, so that no two promise the same; until it is disposed. */
  reserve(bytes: number, what: string): Disposable {
    const freeBytes = Math.max(0, this.#availableBytes() - checkpointLimits.hostMemoryBytes - this.#promisedBytes);
    if (bytes > freeBytes)
      throw new AppError(
        "limit_exceeded",
        `not enough memory for ${what}: it may need ${mebibytes(bytes)}, and ${mebibytes(freeBytes)} are free`,
        {
          hint: "stop or destroy sandboxes, try again later, or copy only the files",
          details: { bytes, freeBytes, promisedBytes: this.#promisedBytes },
          retryAfterMs: checkpointLimits.memoryRetryMs,
        },
      );
    this.#promisedBytes += bytes;
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#promisedBytes -= bytes;
        isHeld = false;
      },
    };
  }
}

/** What the kernel could give without taking it from anyone. */
const readAvailableBytes = () => readBytes("MemAvailable");
/** Of everybody's memory: it is in no sandbox's count, and part of what is saved. */
export const readSwappedBytes = () => readBytes("SwapTotal") - readBytes("SwapFree");

function readBytes(name: string): number {
  const kibibytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(readFileSync("/proc/meminfo", "utf8"))?.[1];
  if (kibibytes === undefined) throw new AppError("internal", `the kernel does not report ${name}`);
  return Number(kibibytes) * 1024;
}

/** The most that a sandbox may have in memory now; all that it may ever have on a host that does not count. */
export function mostHeldBytes(usedBytes: number, limitBytes: number, swappedBytes: number): number {
  return usedBytes === 0 ? limitBytes : usedBytes + Math.min(swappedBytes, limitBytes);
}

/** Reads HTML in a thread of its own, made for one page: with so much memory, for so long (S60). */

import { Worker } from "node:worker_threads";
import { AppError, errnoOf } from "../core/errors.ts";
import { FairQueue } from "../lib/fair-queue.ts";
import { webLimits } from "./limits.ts";
import type { ReaderJob, ReaderResult } from "./reader-job.ts";

// Tests run the sources; the bundle lies beside the worker's.
const file = import.meta.url.endsWith(".ts") ? "./reader-worker.ts" : "./reader-worker.mjs";
const workerUrl = new URL(file, import.meta.url);

interface Turn {
  owner: string;
  begin: () => void;
}

export class Reader {
  readonly #most: { readers: number };
  readonly #waiting: FairQueue<Turn>;
  #reading = 0;

  constructor(most: { readers: number; readersWaiting: number; readersWaitingEach: number } = webLimits) {
    this.#most = most;
    this.#waiting = new FairQueue({ all: most.readersWaiting, each: most.readersWaitingEach });
  }

  /** On somebody's account: nobody's pages hold up those of others for long. */
  for(owner: string): Pick<Reader, "read"> {
    return { read: (job, signal) => this.read(job, signal, owner) };
  }

  async read<J extends ReaderJob>(job: J, signal: AbortSignal, owner = ""): Promise<ReaderResult<J>> {
    await this.#turn(owner);
    try {
      return await readInThread(job, signal);
    } finally {
      this.#waiting.end(owner);
      const next = this.#waiting.take();
      if (next === undefined) this.#reading--;
      else next.begin(); // its turn passes on
    }
  }

  async #turn(owner: string): Promise<void> {
    if (this.#reading >= this.#most.readers) {
      if (!this.#waiting.hasRoom(owner)) throw new AppError("limit_exceeded", "too many pages wait to be read");
      return new Promise<void>((begin) => this.#waiting.push({ owner, begin }));
    }
    this.#reading++;
    this.#waiting.begin(owner);
  }
}

async function readInThread<J extends ReaderJob>(job: J, signal: AbortSignal): Promise<ReaderResult<J>> {
  const read = Promise.withResolvers<ReaderResult<J>>();
  const worker = new Worker(workerUrl, {
    workerData: job,
    env: {},
    resourceLimits: {
      maxOldGenerationSizeMb: webLimits.readMegabytes,
      maxYoungGenerationSizeMb: 32,
      stackSizeMb: webLimits.readStackMegabytes,
    },
  });
  const late = () => read.reject(tooMuch(`it takes longer than ${webLimits.readMs / 1000} s to be read`));
  const abort = () => read.reject(new AppError("timeout", "the request was cancelled"));
  const timer = setTimeout(late, webLimits.readMs);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  worker.on("message", read.resolve);
  worker.on("error", (error) => read.reject(explain(error)));
  worker.on("exit", () => read.reject(new AppError("internal", "the reader of pages has ended")));
  try {
    return await read.promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    await worker.terminate();
  }
}

function tooMuch(why: string, cause?: unknown): AppError {
  return new AppError("too_large", `cannot read this page: ${why}`, {
    hint: "download it in the sandbox and read it as a file",
    cause,
  });
}

function explain(error: Error): AppError {
  if (errnoOf(error) === "ERR_WORKER_OUT_OF_MEMORY") return tooMuch("it takes too much memory", error);
  if (error instanceof RangeError) return tooMuch("it is nested too deep", error);
  return new AppError("internal", "cannot read the page", { cause: error });
}

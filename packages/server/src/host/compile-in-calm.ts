import { compileLimits } from "../core/compile-limits.ts";

export interface CalmParts {
  /** Compile from now on, or nothing more. */
  compile: (may: boolean) => void;
  nowMs?: () => number;
}

/**
 * Lets V8 compile nothing while many are served at once. Its compiler gives way to the daemon's threads alone: the kernel shares the processor
 * between groups of processes, and in that of the daemon it may be the only one that has something to do, while sandboxes want to run.
 * Not for long, and not again soon: where many ask all the time they are served sooner by what is compiled.
 */
export class CompileInCalm implements Disposable {
  readonly #compile: (may: boolean) => void;
  readonly #nowMs: () => number;
  #timer: NodeJS.Timeout | undefined;
  #againMs = Number.NEGATIVE_INFINITY;

  constructor({ compile, nowMs = () => performance.now() }: CalmParts) {
    this.#compile = compile;
    this.#nowMs = nowMs;
  }

  /** One more is served: so many are now. */
  readonly begin = (count: number): void => {
    if (count < compileLimits.atOnce) return;
    const nowMs = this.#nowMs();
    if (nowMs < this.#againMs) return;
    const { pauseMs, betweenMs } = compileLimits;
    this.#againMs = nowMs + pauseMs + betweenMs;
    this.#compile(false);
    this.#timer = setTimeout(() => this.#compile(true), pauseMs);
    this.#timer.unref();
  };

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

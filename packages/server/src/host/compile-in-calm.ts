import { compileLimits } from "../core/compile-limits.ts";

type Runs = keyof typeof compileLimits.runs;

/**
 * Has V8 compile no sooner than usual while many come at once. Its compiler gives way to the daemon's threads alone: the kernel shares the
 * processor between groups of processes, and in that of the daemon it may be the only one that has something to do, while sandboxes want to run.
 * Not for long, and not again soon: where many come all the time they are served sooner by what is compiled.
 */
export class CompileInCalm implements Disposable {
  readonly #compileAfter: (runs: Runs) => void;
  /** When the last of them began, the eldest at `#next`. */
  readonly #beganMs: number[] = Array.from({ length: compileLimits.atOnce }, () => Number.NEGATIVE_INFINITY);
  #next = 0;
  #againMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(compileAfter: (runs: Runs) => void) {
    this.#compileAfter = compileAfter;
  }

  readonly begin = (nowMs: number): void => {
    const { atOnce, withinMs, pauseMs, betweenMs } = compileLimits;
    this.#beganMs[this.#next] = nowMs;
    this.#next = (this.#next + 1) % atOnce;
    const eldestMs = this.#beganMs[this.#next] ?? nowMs;
    if (nowMs - eldestMs > withinMs || nowMs < this.#againMs) return;
    this.#againMs = nowMs + pauseMs + betweenMs;
    this.#compileAfter("usual");
    this.#timer = setTimeout(() => this.#compileAfter("soon"), pauseMs);
    this.#timer.unref();
  };

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

import type { RunIo } from "../run.ts";
import { visible } from "../terminal.ts";

const everyMs = 100;

/** A progress line on the terminal of standard error, removed at the end. Prints nothing if standard error is not a terminal. */
export class LiveLine implements Disposable {
  readonly #screen: { write(text: string): unknown; isTTY?: boolean; columns?: number };
  #shownAtMs: number | undefined;

  constructor({ stderr }: Pick<RunIo, "stderr">) {
    this.#screen = stderr;
  }

  get isOn(): boolean {
    return this.#screen.isTTY === true;
  }

  show(text: string): void {
    if (!this.isOn) return;
    const room = Math.max(20, (this.#screen.columns ?? 80) - 1);
    this.#shownAtMs = performance.now();
    this.#screen.write(`\r\x1b[K${visible(text).slice(0, room)}`);
  }

  /** Like show, but at most once per interval. */
  update(text: () => string): void {
    if (this.isOn && performance.now() - (this.#shownAtMs ?? -everyMs) >= everyMs) this.show(text());
  }

  [Symbol.dispose](): void {
    if (this.#shownAtMs !== undefined) this.#screen.write("\r\x1b[K");
    this.#shownAtMs = undefined;
  }
}

import type { RunIo } from "../run.ts";
import { visible } from "../terminal.ts";

const everyMs = 100;

/** One line of a terminal's standard error, which says how far something is and goes when it is over. Elsewhere nothing is said. */
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

  /** For what changes more often than anybody reads it. */
  update(text: () => string): void {
    if (this.isOn && performance.now() - (this.#shownAtMs ?? -everyMs) >= everyMs) this.show(text());
  }

  [Symbol.dispose](): void {
    if (this.#shownAtMs !== undefined) this.#screen.write("\r\x1b[K");
    this.#shownAtMs = undefined;
  }
}

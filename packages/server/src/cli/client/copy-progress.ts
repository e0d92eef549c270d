import { showBytes } from "../../core/size.ts";
import type { RunIo } from "../run.ts";
import { LiveLine } from "./live-line.ts";

/** Shows the progress of a copy on a terminal. */
export class CopyProgress implements Disposable {
  readonly #line: LiveLine;
  readonly #what: string;
  readonly #total: number | undefined;
  #files = 0;
  #bytes = 0;

  /** `what` is the verb, such as `sent`; `total` is the number of bytes, if known. */
  constructor(io: RunIo, what: string, total?: number) {
    this.#line = new LiveLine(io);
    this.#what = what;
    this.#total = total;
  }

  file(): void {
    this.#files++;
    this.#show();
  }

  bytes(count: number): void {
    this.#bytes += count;
    this.#show();
  }

  #show(): void {
    this.#line.update(() => {
      const of = this.#total === undefined ? "" : ` of ${showBytes(this.#total)}`;
      return `${this.#what} ${this.#files} ${this.#files === 1 ? "file" : "files"}, ${showBytes(this.#bytes)}${of}`;
    });
  }

  [Symbol.dispose](): void {
    this.#line[Symbol.dispose]();
  }
}

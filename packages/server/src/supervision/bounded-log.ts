import { closeSync, fstatSync, openSync, renameSync, writeSync } from "node:fs";
import { supervisionLimits } from "./limits.ts";

/** A log file of a bounded size; what it held before is in `.1`. Written at once: it is to tell of a crash. */
export class BoundedLog implements Disposable {
  readonly #path: string;
  #fd: number;
  #size: number;

  constructor(path: string) {
    this.#path = path;
    this.#fd = openSync(path, "a", 0o600);
    this.#size = fstatSync(this.#fd).size;
  }

  write(text: string): void {
    try {
      if (this.#size > supervisionLimits.logBytes) this.#turn();
      this.#size += writeSync(this.#fd, text);
    } catch {
      // A full disk must not end what it logs.
    }
  }

  #turn(): void {
    closeSync(this.#fd);
    renameSync(this.#path, `${this.#path}.1`);
    this.#fd = openSync(this.#path, "a", 0o600);
    this.#size = 0;
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

import { closeSync, openSync, readSync } from "node:fs";
import { errnoOf } from "../../core/errors.ts";

const buffer = Buffer.alloc(4096);
const unseen: ReadonlySet<string> = new Set(["ENOENT", "ENODEV", "EACCES", "EPERM"]);

/**
 * How often the kernel has ended a process of a cgroup for its memory. Every run asks at its end: the file stays open, for to
 * open it is most of what an answer costs.
 */
export class OomCount implements Disposable {
  readonly #path: string | undefined;
  #fd: number | undefined;

  constructor(path: string | undefined) {
    this.#path = path;
  }

  get path(): string | undefined {
    return this.#path;
  }

  /** Undefined where nothing is counted that this process may see; zero of a cgroup that has gone since. */
  read(): number | undefined {
    if (this.#path === undefined) return undefined;
    try {
      this.#fd ??= openSync(this.#path, "r");
      const text = buffer.toString("latin1", 0, readSync(this.#fd, buffer, 0, buffer.length, 0));
      return Number(/^oom_kill (\d+)/m.exec(text)?.[1] ?? 0);
    } catch (error) {
      if (this.#fd === undefined && unseen.has(errnoOf(error) ?? "")) return undefined;
      if (errnoOf(error) === "ENODEV") return 0;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

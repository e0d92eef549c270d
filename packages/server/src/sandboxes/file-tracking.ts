import type { Changes, Engine } from "../core/engine.ts";
import { AppError } from "../core/errors.ts";

function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.code === "unavailable";
}

/** What runs change in the workspace of one sandbox. */
export class FileTracking {
  readonly #engine: Engine;
  readonly #id: string;
  #marked = false;
  #runs = 0;

  constructor(engine: Engine, id: string) {
    this.#engine = engine;
    this.#id = id;
  }

  get runs(): number {
    return this.#runs;
  }

  /** Something may have changed files since they were last looked at. */
  touch(): void {
    this.#marked = false;
  }

  /** Remembers the files as they are, ahead of the first run: it need not wait for that. */
  async prepare(): Promise<void> {
    this.#marked = await this.#mark();
  }

  /** Remembers the files as they are before a run, unless the last look still holds. */
  async begin(trackFiles: boolean): Promise<void> {
    if (trackFiles && !this.#marked) await this.#mark();
    this.#runs++;
    this.touch();
  }

  /** What changed since the last look. Runs at the same time share it: whoever ends first tells. */
  async end(trackFiles: boolean): Promise<Changes> {
    this.#runs--;
    if (!trackFiles) return { changes: [], truncated: false };
    try {
      const changes = await this.#engine.changedFiles(this.#id);
      this.#marked = this.#runs === 0;
      return changes;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return { changes: [], truncated: true }; // a run is not lost because its workspace cannot be read
    }
  }

  async #mark(): Promise<boolean> {
    try {
      await this.#engine.markFiles(this.#id);
      return true;
    } catch (error) {
      if (!isUnavailable(error)) throw error; // the look after the run will say that it saw nothing
      return false;
    }
  }
}

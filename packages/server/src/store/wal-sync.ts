import { closeSync, fdatasync, fstatSync, openSync } from "node:fs";
import { storeLimits } from "./limits.ts";

/**
 * Brings commits to the disk soon after they were made, without holding up the thread that makes them.
 * SQLite holds no lock on the log file, so that a descriptor of our own on it is harmless.
 */
export class WalSync {
  readonly #fd: number;
  readonly #failed: (error: Error) => void;
  /** What an earlier process wrote may not be on the disk either. */
  #committed = 1;
  #synced = 0;
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #waiting: { until: number; isUrgent: boolean; done: () => void }[] = [];

  constructor(path: string, failed: (error: Error) => void) {
    this.#fd = openSync(`${path}-wal`, "r+");
    this.#failed = failed;
  }

  get sizeBytes(): number {
    return fstatSync(this.#fd).size;
  }

  /** Whether something is committed that a loss of power would take. */
  get dirty(): boolean {
    return this.#synced < this.#committed;
  }

  committed(): void {
    this.#committed++;
    this.#schedule(storeLimits.syncMs);
  }

  /** Calls back when all that is committed now is on the disk; what is not urgent is brought there when it is time. */
  whenSynced(done: () => void, isUrgent = true): void {
    if (!this.dirty) return done();
    this.#waiting.push({ until: this.#committed, isUrgent, done });
    if (!isUrgent) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#schedule(0);
  }

  close(): void {
    clearTimeout(this.#timer);
    closeSync(this.#fd);
  }

  #schedule(afterMs: number): void {
    if (this.#timer !== undefined || this.#running) return;
    this.#timer = setTimeout(() => this.#sync(), afterMs);
  }

  #sync(): void {
    this.#timer = undefined;
    this.#running = true;
    const target = this.#committed;
    fdatasync(this.#fd, (error) => {
      this.#running = false;
      // What the kernel could not write it may have dropped: nothing that follows would be worth more.
      if (error !== null) return this.#failed(error);
      this.#synced = target;
      const ready = this.#waiting.filter(({ until }) => until <= target);
      this.#waiting = this.#waiting.filter(({ until }) => until > target);
      for (const { done } of ready) done();
      if (this.#committed > target)
        this.#schedule(this.#waiting.some(({ isUrgent }) => isUrgent) ? 0 : storeLimits.syncMs);
    });
  }
}

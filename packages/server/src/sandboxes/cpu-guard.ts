import { runLimits } from "./limits.ts";
import type { Sandbox } from "./sandbox.ts";

/**
 * The last guard of a run's CPU seconds. The guest counts its processes, but children that nobody waits for take their
 * count along; the host counts the whole sandbox. So a run that outwits the guest gets at most about twice its limit.
 */
export class CpuGuard implements Disposable {
  readonly #sandbox: Sandbox;
  readonly #limitMs: number;
  readonly #stop: () => void;
  #timer: NodeJS.Timeout;
  #startMs: number | undefined;
  #most: number;
  #done = false;
  fired = false;

  constructor(sandbox: Sandbox, limitMs: number, stop: () => void) {
    this.#sandbox = sandbox;
    this.#limitMs = limitMs;
    this.#stop = stop;
    this.#most = sandbox.runsUnderWay;
    // Before this nobody can have used half of it: a short run costs one timer.
    this.#timer = setTimeout(() => this.#look(), limitMs / (2 * sandbox.limits.cpus));
  }

  [Symbol.dispose](): void {
    this.#done = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const { cpuMs } = await this.#sandbox.stats().catch(() => ({ cpuMs: 0 })); // gone: the run ends by itself
    if (this.#done) return;
    this.#startMs ??= cpuMs;
    this.#most = Math.max(this.#most, this.#sandbox.runsUnderWay);
    const allowedMs = (this.#limitMs * runLimits.cpuSlack + runLimits.cpuSlackMs) * this.#most;
    if (cpuMs - this.#startMs > allowedMs) {
      this.fired = true;
      this.#stop();
      return;
    }
    this.#timer = setTimeout(() => this.#look(), runLimits.cpuLookMs);
  }
}

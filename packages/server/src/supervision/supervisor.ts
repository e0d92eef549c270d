import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../core/errors.ts";
import { supervisionLimits } from "./limits.ts";
import type { SupervisedProcess } from "./supervised-process.ts";

export interface SupervisorParts<Ready> {
  startEngine: () => SupervisedProcess<unknown>;
  startDaemon: () => SupervisedProcess<Ready>;
  /** Called each time the daemon is ready. */
  onReady: (ready: Ready) => Promise<void>;
  log: (name: string, text: string) => void;
}

export interface ProcessStatus {
  pid: number;
  startedAt: string;
}

/**
 * Keeps an engine and a daemon alive. A daemon that ends is started again; an engine that ends takes its daemon with it.
 * Both may be killed at any moment: sandboxes live on, and the next daemon finds them.
 */
export class Supervisor<Ready> {
  readonly #parts: SupervisorParts<Ready>;
  readonly #stopping = new AbortController();
  #engine: SupervisedProcess<unknown> | undefined;
  #daemon: SupervisedProcess<Ready> | undefined;
  #running: Promise<void> | undefined;
  #restarts = 0;
  #isReady = false;

  constructor(parts: SupervisorParts<Ready>) {
    this.#parts = parts;
  }

  /** The first start tells what is wrong instead of trying again. */
  async start(): Promise<void> {
    try {
      await this.#startEngine();
      await this.#startDaemon();
    } catch (error) {
      await this.#stopBoth();
      throw error;
    }
    this.#running = this.#keepAlive();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#stopBoth();
  }

  /** Sends a message to the daemon; one that starts later gets what its configuration says. */
  tellDaemon(message: object): void {
    this.#daemon?.tell(message);
  }

  get restarts(): number {
    return this.#restarts;
  }

  get ready(): boolean {
    return this.#isReady;
  }

  get engine(): ProcessStatus | undefined {
    return describe(this.#engine);
  }

  get daemon(): ProcessStatus | undefined {
    return describe(this.#daemon);
  }

  async #startEngine(): Promise<void> {
    this.#engine = this.#parts.startEngine();
    await this.#engine.ready;
  }

  async #startDaemon(): Promise<void> {
    this.#daemon = this.#parts.startDaemon();
    await this.#parts.onReady(await this.#daemon.ready);
    this.#isReady = true;
  }

  async #keepAlive(): Promise<void> {
    const { signal } = this.#stopping;
    const stopped = new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
    for (let delayMs: number = supervisionLimits.restartMs; !signal.aborted; ) {
      const sinceMs = performance.now();
      const how = await Promise.race([this.#engineEnded(), this.#daemonEnded(), stopped]);
      this.#isReady = false;
      if (how === undefined || signal.aborted) return;
      if (performance.now() - sinceMs > supervisionLimits.steadyMs) delayMs = supervisionLimits.restartMs;
      this.#parts.log("caisson", `${how}; starting again in ${delayMs} ms\n`);
      await sleep(delayMs, undefined, { signal }).catch(() => undefined);
      delayMs = Math.min(delayMs * 2, supervisionLimits.restartMostMs);
      if (signal.aborted) return;
      this.#restarts++;
      await this.#startAgain().catch((error: unknown) => {
        this.#parts.log("caisson", `${messageOf(error)}\n`);
      });
    }
  }

  async #engineEnded(): Promise<string> {
    return `the engine has ended (${await this.#engine?.ended})`;
  }

  async #daemonEnded(): Promise<string> {
    return `the daemon has ended (${await this.#daemon?.ended})`;
  }

  async #startAgain(): Promise<void> {
    await this.#daemon?.stop();
    if (this.#engine === undefined || (await hasEnded(this.#engine))) await this.#startEngine();
    await this.#startDaemon();
  }

  async #stopBoth(): Promise<void> {
    this.#isReady = false;
    await this.#daemon?.stop();
    await this.#engine?.stop();
  }
}

async function hasEnded(service: SupervisedProcess<unknown>): Promise<boolean> {
  return (await Promise.race([service.ended, Promise.resolve(undefined)])) !== undefined;
}

function describe(
  service: Pick<SupervisedProcess<unknown>, "pid" | "startedAt"> | undefined,
): ProcessStatus | undefined {
  if (service?.pid === undefined) return undefined;
  return { pid: service.pid, startedAt: service.startedAt.toISOString() };
}

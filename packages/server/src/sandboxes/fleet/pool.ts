import { setTimeout as sleep } from "node:timers/promises";
import type { EngineName, SandboxLimits, WarmChoice } from "../../core/engine.ts";
import type { PoolStatus } from "../../core/fleet.ts";
import type { ChosenImage } from "../../core/image-record.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Sandbox } from "../sandbox.ts";
import { fleetLimits, poolLimits } from "./limits.ts";
import { eachOf } from "./slots.ts";

export interface PoolParts {
  /** Tells when it begins to start, and is no longer waiting for others. */
  make: (begin: () => void) => Promise<Sandbox>;
  image: ChosenImage;
  engine: EngineName;
  size: number;
  quietMs: number;
  limits: SandboxLimits;
  warm: WarmChoice;
  clock: Clock;
  /** When somebody last asked for something or was given it, by performance.now(). */
  lastUseMs: () => number;
  /** For those that nobody gets. */
  discard: (sandbox: Sandbox) => Promise<void>;
  onError: (error: unknown) => void;
}

interface Ready {
  sandbox: Sandbox;
  sinceMs: number;
}

/** One that nobody may have before it has answered; what has answered just now is not asked again. */
export interface Candidate {
  sandbox: Sandbox;
  isWell?: Promise<boolean>;
}

/** Sandboxes of one image and engine that run and are nobody's. One that was handed out never comes back (LIF-02). */
export class WarmPool {
  readonly #parts: PoolParts;
  readonly #ready: Ready[] = [];
  readonly #closing = new AbortController();
  #starting = 0;
  /** Of those that start, how many have begun; and who gets the next of them. */
  #begun = 0;
  readonly #takers: ((sandbox: Sandbox | undefined) => void)[] = [];
  #hits = 0;
  #misses = 0;
  #filling: Promise<void> | undefined;
  #isSoon = false;
  #soon: NodeJS.Timeout | undefined;

  constructor(parts: PoolParts) {
    this.#parts = parts;
  }

  get image(): ChosenImage {
    return this.#parts.image;
  }

  get warm(): WarmChoice {
    return this.#parts.warm;
  }

  get limits(): SandboxLimits {
    return this.#parts.limits;
  }

  /** The oldest, which is asked at once whether it is well, unless it has just said so and need not be; undefined when there is none. */
  take(mustAsk: boolean): Candidate | undefined {
    const ready = this.#ready.shift();
    this.fillSoon();
    if (ready !== undefined) return this.#offer(ready.sandbox, mustAsk);
    this.#misses++;
    return undefined;
  }

  /** One that has begun to start and is nobody's yet: it is there before any that starts now. */
  get isComing(): boolean {
    return this.#ready.length === 0 && this.#begun > this.#takers.length;
  }

  /** That one; undefined when its start failed. */
  async takeComing(mustAsk: boolean): Promise<Candidate | undefined> {
    const sandbox = await new Promise<Sandbox | undefined>((resolve) => this.#takers.push(resolve));
    return sandbox && this.#offer(sandbox, mustAsk);
  }

  #offer(sandbox: Sandbox, mustAsk: boolean): Candidate {
    if (mustAsk || !this.#hasAnswered(sandbox)) return { sandbox, isWell: this.#check(sandbox) };
    this.#hits++;
    return { sandbox };
  }

  /** To the last question of those that every sandbox is asked all the time. */
  #hasAnswered({ wire }: Sandbox): boolean {
    return this.#parts.clock.monotonicMs() - wire.answeredMs <= poolLimits.answeredMs;
  }

  /** One round trip over the wire, under way while what its taker has to write is written. */
  async #check(sandbox: Sandbox): Promise<boolean> {
    try {
      await sandbox.ping(poolLimits.healthMs);
      this.#hits++;
      return true;
    } catch {
      return false;
    }
  }

  /** Whoever took one has its answer, and that of its first runs, before the next one's start takes the processor. */
  fillSoon(): void {
    const { quietMs } = this.#parts;
    const askedMs = performance.now();
    const latestMs = askedMs + Math.max(quietMs, poolLimits.fillLatestMs);
    const fill = () => {
      const waitMs = Math.min(Math.max(askedMs, this.#parts.lastUseMs()) + quietMs, latestMs) - performance.now();
      if (waitMs > 0 && !this.#closing.signal.aborted) {
        this.#soon = setTimeout(fill, Math.ceil(waitMs));
        return;
      }
      this.#isSoon = false;
      this.fill();
    };
    if (this.#isSoon) return;
    this.#isSoon = true;
    setImmediate(fill); // to set a timer takes longer
  }

  /** Starts what is missing, one after the other, behind whatever somebody waits for. */
  fill(): void {
    if (this.#filling !== undefined || this.#closing.signal.aborted) return;
    this.#filling = this.#fill().finally(() => {
      this.#filling = undefined;
    });
  }

  async #fill(): Promise<void> {
    let waitMs: number = poolLimits.backoffMs;
    const { signal } = this.#closing;
    while (this.#ready.length < this.#parts.size && !signal.aborted) {
      try {
        const taken = await this.#add();
        waitMs = poolLimits.backoffMs;
        if (taken) return this.fillSoon();
      } catch (error) {
        this.#parts.onError(error);
        await sleep(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
        waitMs = Math.min(2 * waitMs, poolLimits.backoffMostMs);
      }
    }
  }

  /** True when somebody waited for it. */
  async #add(): Promise<boolean> {
    const { make, clock } = this.#parts;
    this.#starting++;
    try {
      const sandbox = await make(() => this.#begun++);
      if (this.#takers.length === 0) await sandbox.rehearse().catch(this.#parts.onError);
      await sandbox.prepare().catch(this.#parts.onError); // its first run does it then
      const taker = this.#takers.shift();
      if (taker !== undefined) {
        taker(sandbox);
        return true;
      }
      const ready = { sandbox, sinceMs: clock.monotonicMs() };
      this.#ready.push(ready);
      void sandbox.lost.then(() => this.#lose(ready));
      return false;
    } catch (error) {
      this.#takers.shift()?.(undefined);
      throw error;
    } finally {
      this.#starting--;
      this.#begun = 0; // they start one after the other
    }
  }

  /** One that ends while it waits makes room for another. */
  #lose(ready: Ready): void {
    const at = this.#ready.indexOf(ready);
    if (at < 0) return;
    this.#ready.splice(at, 1);
    this.#throwAway(ready.sandbox);
    this.fill();
  }

  #throwAway(sandbox: Sandbox): void {
    this.#parts.discard(sandbox).catch(this.#parts.onError);
  }

  status(): PoolStatus {
    const { image, engine, size, clock } = this.#parts;
    const oldest = this.#ready[0];
    return {
      image: image.name,
      engine,
      size,
      ready: this.#ready.length,
      starting: this.#starting,
      hits: this.#hits,
      misses: this.#misses,
      oldestAgeMs: oldest === undefined ? null : clock.monotonicMs() - oldest.sinceMs,
    };
  }

  get readyCount(): number {
    return this.#ready.length;
  }

  /** One less until somebody takes one, for what somebody waits for. */
  async giveWay(): Promise<void> {
    const ready = this.#ready.shift();
    if (ready !== undefined) await this.#parts.discard(ready.sandbox);
  }

  /** Its sandboxes end: a next daemon fills a pool of its own. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#soon);
    await this.#filling;
    const left = this.#ready.splice(0);
    const failed = await eachOf(left, fleetLimits.expiringAtOnce, ({ sandbox }) => this.#parts.discard(sandbox));
    for (const error of failed) this.#parts.onError(error);
  }
}

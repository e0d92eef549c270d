/** One instance of a hosted server: who may start it, who uses it, and when it ends. */
import { AppError, messageOf } from "../core/errors.ts";
import type { LinkCarrier, Mask } from "../core/server-link.ts";
import type { Clock } from "../lib/clock.ts";
import { randomId } from "../lib/random-id.ts";
import { abortable } from "./abortable.ts";
import { serverLimits } from "./limits.ts";

/** A program that answers. */
export interface Program {
  carrier: LinkCarrier;
  mask: Mask;
  /** Resolves with why it is over. */
  ended: Promise<string>;
  /** Ends it, and whatever it left behind. Called once, also after it has ended. */
  close(): Promise<void>;
}

export interface InstanceParts {
  /** Resolves when the program can be spoken to. Until `begun` is called it only waits for its turn. */
  start: (signal: AbortSignal, begun: () => void) => Promise<Program>;
  /** Undefined while it may start and be used; else resolves when that can be asked again, or rejects with why it never may. */
  gate: () => Promise<void> | undefined;
  idleTimeoutMs: () => number;
  clock: Pick<Clock, "monotonicMs">;
  onStarted: () => void;
  onStopped: (why: string) => void;
  /** It ended unasked, or did not start. */
  onCrashed: (why: string, failures: number) => void;
  /** Nobody uses it any more, or it has stopped. */
  onFree: () => void;
  onError: (error: unknown) => void;
}

type State = "stopped" | "starting" | "running" | "stopping";

export interface Lease {
  readonly incarnation: string;
  readonly carrier: LinkCarrier;
  readonly mask: Mask;
  readonly ended: AbortSignal;
  release(): void;
}

interface Run {
  incarnation: string;
  program: Program;
  ended: AbortController;
  startedMs: number;
}

/**
 * The states are stopped, starting, running and stopping, in this circle. A lease is given while it runs and nothing has
 * asked it to stop; whoever asks for one at another time waits for the next state (hazard 15).
 */
export class Instance {
  readonly #parts: InstanceParts;
  #state: State = "stopped";
  /** The end of `starting` or `stopping`. */
  #change: Promise<void> = Promise.resolve();
  #starting: AbortController | undefined;
  /** The same, while the start waits for its turn. */
  #queued: AbortController | undefined;
  #run: Run | undefined;
  #leases = 0;
  /** Calls that wait for a lease. */
  #waiting = 0;
  #idle: NodeJS.Timeout | undefined;
  #drained: (() => void)[] = [];
  #failures = 0;
  #notBeforeMs = 0;
  #failure: string | null = null;
  lastUsedMs = 0;

  constructor(parts: InstanceParts) {
    this.#parts = parts;
  }

  get state(): State | "crash_loop" {
    return this.#state === "stopped" && this.#isLoop ? "crash_loop" : this.#state;
  }

  get leases(): number {
    return this.#leases;
  }

  get startedMs(): number | undefined {
    return this.#run?.startedMs;
  }

  /** True if nothing would be lost with it. */
  get isIdle(): boolean {
    return this.#state === "stopped" && this.#waiting === 0;
  }

  /** True if its last start or run failed. */
  get hasFailed(): boolean {
    return this.#failures > 0;
  }

  /** Why it is in a crash loop. */
  get failure(): string | null {
    return this.#isLoop ? this.#failure : null;
  }

  get #isLoop(): boolean {
    return this.#failures >= serverLimits.crashes;
  }

  /** Starts it if need be. */
  async lease(signal: AbortSignal, { isTrial = false } = {}): Promise<Lease> {
    this.#waiting += 1;
    try {
      return await this.#lease(signal, isTrial);
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#queued?.abort(new AppError("unavailable", "nobody waits for the server any more"));
    }
  }

  async #lease(signal: AbortSignal, isTrial: boolean): Promise<Lease> {
    for (;;) {
      signal.throwIfAborted();
      const gate = isTrial ? undefined : this.#parts.gate();
      const run = this.#run;
      if (gate !== undefined) await abortable(gate, signal);
      else if (this.#state === "running" && run !== undefined) return this.#lend(run);
      else if (this.#state !== "stopped") await abortable(this.#change, signal);
      else await this.#begin(signal);
    }
  }

  #lend({ incarnation, program, ended }: Run): Lease {
    clearTimeout(this.#idle);
    this.#leases += 1;
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      if (this.#run?.incarnation === incarnation) this.#returned();
    };
    return { incarnation, carrier: program.carrier, mask: program.mask, ended: ended.signal, release };
  }

  #returned(): void {
    this.#leases -= 1;
    if (this.#leases > 0) return;
    this.lastUsedMs = this.#parts.clock.monotonicMs();
    this.#awaitIdle();
    this.#tellFree();
  }

  #tellFree(): void {
    for (const drained of this.#drained.splice(0)) drained();
    this.#parts.onFree();
  }

  #awaitIdle(): void {
    clearTimeout(this.#idle);
    const stop = () => {
      if (this.#state === "running" && this.#leases === 0) void this.#end("it was idle");
    };
    this.#idle = setTimeout(stop, this.#parts.idleTimeoutMs()).unref();
  }

  async #begin(signal: AbortSignal): Promise<void> {
    if (this.#isLoop)
      throw new AppError("unavailable", `the server crashes again and again: ${this.#failure}`, {
        hint: "caisson servers logs SERVER shows its output; a restart or a new version tries again",
        details: { crash_loop: true },
      });
    const waitMs = this.#notBeforeMs - this.#parts.clock.monotonicMs();
    if (waitMs > 0) return abortable(new Promise((resolve) => setTimeout(resolve, waitMs).unref()), signal);
    this.#change = this.#start();
    this.#change.catch(() => undefined); // those who wait for it get the error
    return abortable(this.#change, signal);
  }

  async #start(): Promise<void> {
    const starting = new AbortController();
    this.#starting = starting;
    this.#queued = starting;
    this.#state = "starting";
    const begun = () => {
      this.#queued = undefined;
    };
    try {
      const program = await this.#parts.start(starting.signal, begun);
      this.#begun(program);
    } catch (error) {
      this.#state = "stopped";
      const isStopped = starting.signal.aborted; // those who wait ask again
      const isTurnedAway = this.#queued !== undefined; // nothing of it has run
      if (!isStopped && !isTurnedAway) this.#failed(messageOf(error));
      this.#tellFree();
      if (!isStopped) throw error;
    } finally {
      this.#starting = undefined;
      this.#queued = undefined;
    }
  }

  #begun(program: Program): void {
    const run = { incarnation: randomId(8, "hex"), program, ended: new AbortController() };
    this.#run = { ...run, startedMs: this.#parts.clock.monotonicMs() };
    this.#leases = 0;
    this.#state = "running";
    this.#awaitIdle();
    this.#parts.onStarted();
    void program.ended.then((why) => {
      if (this.#state !== "running" || this.#run?.incarnation !== run.incarnation) return;
      const ranMs = this.#parts.clock.monotonicMs() - this.#run.startedMs;
      if (ranMs >= serverLimits.backOffMs.max) this.#failures = 0;
      this.#failed(why);
      void this.#end(undefined, why);
    });
  }

  /** The next start waits longer after each failure. */
  #failed(why: string): void {
    this.#failures += 1;
    this.#failure = why;
    const { first, max } = serverLimits.backOffMs;
    this.#notBeforeMs = this.#parts.clock.monotonicMs() + Math.min(first * 2 ** (this.#failures - 1), max);
    this.#parts.onCrashed(why, this.#failures);
  }

  #end(stopped: string | undefined, why = stopped ?? ""): Promise<void> {
    const run = this.#run;
    clearTimeout(this.#idle);
    this.#state = "stopping";
    this.#run = undefined;
    this.#leases = 0;
    const reason = new AppError("unavailable", `the server stopped: ${why}; the outcome of calls under way is unknown`);
    this.#change = (async () => {
      run?.ended.abort(reason);
      await run?.program.close().catch(this.#parts.onError);
      this.#state = "stopped";
      if (stopped !== undefined) this.#parts.onStopped(stopped);
      this.#tellFree();
    })();
    return this.#change;
  }

  /** Ends it now, whoever uses it. The next lease starts it again. */
  async stop(why: string): Promise<void> {
    while (this.#state !== "stopped") {
      if (this.#state === "running") await this.#end(why);
      else {
        this.#starting?.abort(new AppError("unavailable", `the server stopped: ${why}`));
        await this.#change.catch(() => undefined);
      }
    }
  }

  /** Resolves when nobody uses it, or after that time. */
  async drain(limitMs: number): Promise<void> {
    if (this.#leases === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#drained.push(resolve);
    const timer = setTimeout(resolve, limitMs).unref();
    await promise;
    clearTimeout(timer);
  }

  /** Forgets failures: the next lease tries again at once. */
  forgive(): void {
    this.#failures = 0;
    this.#notBeforeMs = 0;
    this.#failure = null;
  }
}

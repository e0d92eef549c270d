import type { Command } from "../core/command.ts";
import type { ContextEnd, ContextError, ContextResult, ContextRunResult } from "../core/context.ts";
import { AppError } from "../core/errors.ts";
import { contextLimits } from "../core/limits.ts";
import type { NetworkRefusals } from "../core/network-refusal.ts";
import { outcomeOf } from "../core/outcome.ts";
import type { RunLimits } from "../core/run.ts";
import type { OutputChannel } from "../core/wire.ts";
import { Capture } from "./capture.ts";
import { type LimitingSandbox, limitsOf } from "./command-limits.ts";
import { contextExit } from "./context-exit.ts";
import { CpuGuard } from "./cpu-guard.ts";
import type { Kernel, KernelListener } from "./kernel.ts";
import type { KernelMessage } from "./kernel-message.ts";
import type { Sandbox } from "./sandbox.ts";

export interface ContextIo {
  listeners: Record<OutputChannel, ((chunk: Buffer) => Promise<void> | undefined) | undefined>;
  signal?: AbortSignal;
}

/** Code for a context, with everything that its run needs. */
export interface CodeRun extends ContextIo, Pick<RunLimits, "timeoutMs" | "cpuTimeMs" | "outputBytes"> {
  id: string;
  code: string;
  stdin?: Uint8Array;
}

export function toCodeRun(sandbox: LimitingSandbox, command: Command, io: ContextIo): CodeRun {
  const { id, what, stdin } = command;
  if (!("code" in what) || stdin === "stream") throw new AppError("internal", "not code for a context");
  const { timeoutMs, cpuTimeMs, outputBytes } = limitsOf(sandbox, command);
  return { id, code: what.code, ...(stdin && { stdin }), timeoutMs, cpuTimeMs, outputBytes, ...io };
}

/** One run of a context, from its request to its end: the kernel's, or the kernel's answer. */
export class ContextRun implements KernelListener {
  readonly #id: number;
  readonly #request: CodeRun;
  readonly #sandbox: Sandbox;
  readonly #kernel: Kernel;
  readonly #captures: Record<OutputChannel, Capture>;
  readonly #results: ContextResult[] = [];
  readonly #answered = Promise.withResolvers<void>();
  readonly #acknowledged = Promise.withResolvers<void>();
  readonly #waits = new Set<Promise<void>>();
  #error: ContextError | undefined;
  #failure: { error: unknown } | undefined;
  #resultChars = 0;
  #hasEnd = false;
  #hasSync = false;
  #timedOut = false;
  #interruptTimer: NodeJS.Timeout | undefined;

  constructor(id: number, request: CodeRun, sandbox: Sandbox, kernel: Kernel) {
    this.#id = id;
    this.#request = request;
    this.#sandbox = sandbox;
    this.#kernel = kernel;
    this.#captures = { stdout: new Capture(request.outputBytes), stderr: new Capture(request.outputBytes) };
  }

  async complete(): Promise<ContextRunResult> {
    const { code, stdin, timeoutMs, cpuTimeMs, signal } = this.#request;
    const startMs = performance.now();
    using refusals = this.#sandbox.watchRefusals();
    let graceTimer: NodeJS.Timeout | undefined;
    const stop = (why: string) => {
      this.interrupt();
      graceTimer ??= setTimeout(() => this.#kernel.kill(why), contextLimits.graceMs);
    };
    const timer =
      timeoutMs === 0
        ? undefined
        : setTimeout(() => {
            this.#timedOut = true;
            stop("the code went on after its time limit");
          }, timeoutMs);
    const guard = new CpuGuard(this.#sandbox, cpuTimeMs, () => stop("the code went on after its CPU time limit"));
    const cancel = () => stop("the code went on after it was cancelled");
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      const sent = this.#kernel.send({
        id: this.#id,
        code,
        ...(stdin && { stdin: Buffer.from(stdin).toString("base64") }),
      });
      sent.catch(() => undefined); // a kernel that takes no request has ended, or is ended by the time limit
      const end = await Promise.race([this.#answered.promise.then(() => undefined), this.#kernel.ended]);
      if (end === undefined) await Promise.allSettled(this.#waits); // a dead context waits for no listener
      if (this.#failure !== undefined) throw this.#failure.error;
      const seen = this.#sandbox.redactor.value(refusals.seen());
      return { ...this.#describe(performance.now() - startMs, guard.fired, end), ...seen };
    } finally {
      signal?.removeEventListener("abort", cancel);
      clearTimeout(timer);
      clearTimeout(graceTimer);
      clearInterval(this.#interruptTimer);
      guard[Symbol.dispose]();
      this.#acknowledged.resolve();
      this.#sandbox.touchFiles();
    }
  }

  /** Sent again until it is heard: one that comes as the code just begins can be lost. The kernel counts them. */
  interrupt(): Promise<void> {
    if (this.#interruptTimer === undefined) {
      this.#kernel.interrupt();
      this.#interruptTimer = setInterval(() => this.#kernel.interrupt(), contextLimits.interruptAgainMs);
    }
    return this.#acknowledged.promise;
  }

  interrupted(): void {
    clearInterval(this.#interruptTimer);
    this.#interruptTimer = undefined;
    this.#acknowledged.resolve();
  }

  output(channel: OutputChannel, chunk: Buffer): Promise<void> | undefined {
    const listener = this.#request.listeners[channel];
    if (listener === undefined) {
      this.#captures[channel].add(chunk);
      return undefined;
    }
    if (this.#failure !== undefined) return undefined;
    try {
      const wait = listener(chunk)?.catch((error: unknown) => this.#fail(error));
      if (wait === undefined) return undefined;
      this.#waits.add(wait);
      return wait.finally(() => this.#waits.delete(wait));
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  message(message: KernelMessage): void {
    if (message.type === "result" && !this.#hasEnd) this.#addResult(message.result, message.chars);
    if (message.type !== "end" || message.id !== this.#id || this.#hasEnd) return;
    this.#hasEnd = true;
    this.#error = message.error;
    if (this.#hasSync) this.#answered.resolve();
  }

  synced(id: number): void {
    if (id !== this.#id) return;
    this.#hasSync = true;
    if (this.#hasEnd) this.#answered.resolve();
  }

  #addResult(result: ContextResult, chars: number): void {
    this.#resultChars += chars;
    if (this.#resultChars <= contextLimits.resultChars) this.#results.push(result);
    else this.#results.push({ kind: result.kind, text: result.text.slice(0, 1000), truncated: true });
  }

  /** What the caller's own listener throws interrupts the code, and is what the caller gets. */
  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.interrupt();
  }

  #describe(
    durationMs: number,
    cpuLimit: boolean,
    end: ContextEnd | undefined,
  ): Omit<ContextRunResult, keyof NetworkRefusals> {
    const { stdout, stderr } = this.#captures;
    const error = end === undefined ? this.#error : { name: "ContextEnded", message: end.reason, traceback: "" };
    const said = error === undefined ? {} : { error };
    const gone = end === undefined ? {} : { ended: end };
    return {
      run_id: this.#request.id,
      stdout: stdout.text(),
      stderr: stderr.text(),
      truncated: stdout.truncated || stderr.truncated,
      results: this.#results,
      ...said,
      duration_ms: Math.round(durationMs * 1000) / 1000,
      timed_out: this.#timedOut,
      cpu_limit: cpuLimit,
      ...outcomeOf({ ...contextExit({ ...said, ...gone }), timed_out: this.#timedOut, cpu_limit: cpuLimit }),
      ...gone,
    };
  }
}

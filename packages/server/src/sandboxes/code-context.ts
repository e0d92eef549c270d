import { isDeepStrictEqual } from "node:util";
import type { Command, ContextUse } from "../core/command.ts";
import type {
  ContextEnd,
  ContextInfo,
  ContextLanguage,
  ContextOptions,
  ContextRunOptions,
  ContextRunResult,
} from "../core/context.ts";
import { AppError } from "../core/errors.ts";
import { contextLimits } from "../core/limits.ts";
import type { OutputChannel } from "../core/wire.ts";
import { defined } from "../lib/defined.ts";
import { type CodeRun, type ContextIo, ContextRun, toCodeRun } from "./context-run.ts";
import { type Adopted, Kernel, type KernelListener, type KernelState } from "./kernel.ts";
import { observeContextRun } from "./observe-context.ts";
import { readContextRun } from "./read-context-options.ts";
import type { Sandbox } from "./sandbox.ts";

/** What the context of a copy goes on from. */
export interface ContextState {
  id: string;
  shared: boolean;
  lastRun: number;
  kernel: KernelState;
}

interface Waiting {
  request: CodeRun;
  gate: PromiseWithResolvers<ContextRunResult>;
}

/** Keeps what threads and children write while nothing runs, for the next run to show. */
class IdleListener implements KernelListener {
  #chunks: [OutputChannel, Buffer][] = [];
  #bytes = 0;

  output(channel: OutputChannel, chunk: Buffer): undefined {
    const room = contextLimits.idleOutputBytes - this.#bytes;
    if (room <= 0) return;
    const kept = Buffer.from(chunk.subarray(0, room));
    this.#bytes += kept.length;
    this.#chunks.push([channel, kept]);
  }

  handTo(listener: KernelListener): void {
    for (const [channel, chunk] of this.#chunks) listener.output(channel, chunk);
    this.#chunks = [];
    this.#bytes = 0;
  }

  message(): void {}
  synced(): void {}
  interrupted(): void {}
}

/** An interpreter whose variables live on. Runs wait for each other, in the order they were asked for. */
export class CodeContext implements ContextInfo, AsyncDisposable {
  readonly id: string;
  readonly language: ContextLanguage;
  readonly #sandbox: Sandbox;
  readonly #options: ContextOptions;
  readonly #forget: () => void;
  readonly #idle = new IdleListener();
  readonly #queue: Waiting[] = [];
  #kernel: Kernel | undefined;
  #current: ContextRun | undefined;
  #end: ContextEnd | undefined;
  #restarting: Promise<void> | undefined;
  #lastRun = 0;
  #busy = false;
  #disposed = false;

  constructor(id: string, sandbox: Sandbox, options: ContextOptions, forget: () => void) {
    this.id = id;
    this.language = options.language;
    this.#sandbox = sandbox;
    this.#options = options;
    this.#forget = forget;
  }

  /** Why the interpreter is gone, as long as it was not restarted. */
  get ended(): ContextEnd | undefined {
    return this.#end;
  }

  /** It lives and runs nothing. */
  get idle(): boolean {
    return this.#kernel !== undefined && this.#end === undefined && this.#current === undefined;
  }

  async start(): Promise<void> {
    const kernel = await Kernel.start(this.#sandbox, this.#options, () => this.#current ?? this.#idle);
    if (this.#disposed) kernel.kill("the context was deleted");
    this.#follow(kernel);
  }

  /** Goes on with a kernel that runs in a copy. */
  adopt({ lastRun, kernel }: ContextState, adopted: Adopted): Kernel {
    this.#lastRun = lastRun;
    const found = Kernel.adopt(this.#sandbox, kernel, adopted, () => this.#current ?? this.#idle);
    this.#follow(found);
    return found;
  }

  /** Of one that lives. */
  state(shared: boolean): ContextState | undefined {
    if (this.#kernel === undefined || this.#end !== undefined || this.#disposed) return undefined;
    return { id: this.id, shared, lastRun: this.#lastRun, kernel: this.#kernel.state() };
  }

  #follow(kernel: Kernel): void {
    this.#kernel = kernel;
    this.#end = undefined;
    kernel.ended.then(
      (end) => {
        if (this.#kernel === kernel) this.#end = end;
      },
      () => undefined, // the sandbox is lost: whoever runs something is told
    );
  }

  /** What code in this context has of it. */
  get use(): ContextUse {
    const { cwd, env, limits: { memoryBytes, processes } = {} } = this.#options;
    return { id: this.id, ...defined({ cwd, env }), limits: defined({ memoryBytes, processes }) };
  }

  async run(code: string, options: ContextRunOptions = {}): Promise<ContextRunResult> {
    const { command, io } = readContextRun(code, { language: this.language, context: this.use }, options);
    return this.runCommand(command, io);
  }

  /** Refuses code that was judged for another interpreter: a context of a later start may have the same id. */
  async runCommand(command: Command, io: ContextIo): Promise<ContextRunResult> {
    const { what } = command;
    const judged = "code" in what ? { language: what.language, limits: {}, ...what.context, id: this.id } : undefined;
    if (!isDeepStrictEqual(judged, { language: this.language, ...this.use }))
      throw new AppError("conflict", `context ${this.id} was replaced by another one`);
    const request = toCodeRun(this.#sandbox, command, io);
    if (this.#queue.length >= contextLimits.queuedRuns)
      throw new AppError("limit_exceeded", `too many runs wait for this context (limit: ${contextLimits.queuedRuns})`);
    const gate = Promise.withResolvers<ContextRunResult>();
    this.#queue.push({ request, gate });
    this.#work();
    return gate.promise;
  }

  /** Stops the code that runs, not the context. Resolves when the code has heard it, or at once when nothing runs. */
  async interrupt(): Promise<void> {
    await this.#current?.interrupt();
  }

  /** A new interpreter in place of this one; runs that wait are refused. */
  async restart(): Promise<void> {
    if (this.#disposed) throw this.#gone();
    this.#refuseWaiting("the context was restarted before this run began");
    this.#restarting ??= this.#stop("the context was restarted")
      .then(() => this.start())
      .finally(() => {
        this.#restarting = undefined;
      });
    await this.#restarting;
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    this.#forget();
    this.#refuseWaiting("the context was disposed of before this run began");
    await this.#stop("the context was deleted");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #work(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      try {
        next.gate.resolve(await this.#runNow(next.request));
      } catch (error) {
        next.gate.reject(error);
      }
    }
    this.#busy = false;
  }

  async #runNow(request: CodeRun): Promise<ContextRunResult> {
    // Only then: an interrupt right after this call must find the run. A restart that fails is told to its caller.
    if (this.#restarting !== undefined) await this.#restarting.catch(() => undefined);
    if (this.#disposed || this.#kernel === undefined || this.#end !== undefined) throw this.#gone();
    request.signal?.throwIfAborted();
    const kernel = this.#kernel;
    const about = { sandboxId: this.#sandbox.id, language: this.language };
    return observeContextRun(this.#sandbox.observer, about, request, (observed) => this.#complete(observed, kernel));
  }

  async #complete(request: CodeRun, kernel: Kernel): Promise<ContextRunResult> {
    const run = new ContextRun(++this.#lastRun, request, this.#sandbox, kernel);
    this.#idle.handTo(run);
    this.#current = run;
    try {
      const result = await run.complete();
      if (result.ended !== undefined) this.#end ??= result.ended;
      return result;
    } finally {
      this.#current = undefined;
    }
  }

  async #stop(reason: string): Promise<void> {
    this.#kernel?.kill(reason);
    await this.#kernel?.ended.catch(() => undefined); // a lost sandbox has no context left either
  }

  #refuseWaiting(why: string): void {
    for (const { gate } of this.#queue.splice(0)) gate.reject(new AppError("conflict", why));
  }

  #gone(): AppError {
    if (this.#disposed) return new AppError("conflict", "the context was deleted");
    return new AppError("conflict", `the context has ended: ${this.#end?.reason ?? "it was never started"}`, {
      hint: "restart it, and run the code that sets its variables again",
    });
  }
}

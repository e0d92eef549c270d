import { randomBytes } from "node:crypto";
import { contextCommand } from "../core/command.ts";
import type { ContextEnd, ContextOptions } from "../core/context.ts";
import { AppError } from "../core/errors.ts";
import { contextLimits, requestLimits } from "../core/limits.ts";
import { showBytes, showSeconds } from "../core/size.ts";
import type { ExitRecord, HeldStream, OutputChannel, OutputListener, StreamState, WireStream } from "../core/wire.ts";
import { CleanOutput } from "../dlp/clean-output.ts";
import { errorOfErrno } from "./errno.ts";
import { type KernelMessage, KernelViolation, parseKernelMessage } from "./kernel-message.ts";
import { fullPayloadBytes, MarkedStream, markBytes } from "./marked-stream.ts";
import { signalName } from "./process-result.ts";
import { tellLoss } from "./run.ts";
import type { Sandbox } from "./sandbox.ts";
import { toSpec } from "./spec.ts";

const seedBytes = 32;

const exitReasons: Record<number, string> = {
  70: "the code broke its interpreter",
  71: "the code closed the descriptors of its interpreter",
};

export interface KernelRequest {
  id: number;
  code: string;
  /** Base64. */
  stdin?: string;
}

/** Who hears what a kernel says: the run that is under way. */
export interface KernelListener {
  output(channel: OutputChannel, chunk: Buffer): Promise<void> | undefined;
  message(message: KernelMessage): void;
  /** Everything that the run wrote to stderr has come. */
  synced(id: number): void;
  interrupted(): void;
}

/** What the kernel of a copy goes on from: the guest has all else. */
export interface KernelState {
  stream: number;
  options: ContextOptions;
  mark: Buffer;
  interrupts: number;
  /** Of each channel: how much of it was read, and what of that is not taken apart yet. */
  read: Record<OutputChannel, { bytes: number; rest: Buffer }>;
}

/** A stream that a former owner opened, and where it stands. */
export interface Adopted {
  stream: HeldStream;
  state: StreamState;
}

const channels = ["stdout", "stderr"] as const;

/**
 * The interpreter process of a context. User code runs in it, so all that comes out of it is hostile: it is parsed,
 * bounded, and believed only about its own context (S17).
 */
export class Kernel {
  /** Resolves once the process is gone, with the reason; rejects when the sandbox is. */
  readonly ended: Promise<ContextEnd>;
  readonly #sandbox: Sandbox;
  readonly #options: ContextOptions;
  readonly #stream: WireStream;
  readonly #mark: Buffer;
  readonly #ready = Promise.withResolvers<void>();
  readonly #listener: () => KernelListener;
  readonly #clean: CleanOutput<OutputChannel>;
  readonly #streams: Record<OutputChannel, MarkedStream>;
  readonly #readBytes: Record<OutputChannel, number>;
  /** Of a copy: what comes again, and was taken apart before it was one. */
  readonly #again: Record<OutputChannel, number> = { stdout: 0, stderr: 0 };
  #parts: Buffer[] = [];
  #partBytes = 0;
  #results = 0;
  #interrupts = 0;
  #killReason: string | undefined;
  #done = false;

  private constructor(
    sandbox: Sandbox,
    options: ContextOptions,
    listener: () => KernelListener,
    from?: { kernel: KernelState; adopted: Adopted },
  ) {
    this.#sandbox = sandbox;
    this.#options = options;
    this.#listener = listener;
    this.#mark = from?.kernel.mark ?? randomBytes(markBytes);
    this.#interrupts = from?.kernel.interrupts ?? 0;
    const { stdout, stderr } = from?.kernel.read ?? {};
    this.#readBytes = { stdout: stdout?.bytes ?? 0, stderr: stderr?.bytes ?? 0 };
    for (const channel of channels)
      this.#again[channel] = Math.max(0, this.#readBytes[channel] - (from?.adopted.state.acknowledged[channel] ?? 0));
    const cleaned = { stdout: sandbox.redactor.stream("mark"), stderr: sandbox.redactor.stream("mark") };
    this.#clean = new CleanOutput(cleaned, (channel, piece) => this.#listener().output(channel, piece));
    const streams = { stdout: this.#marked("stdout", stdout?.rest), stderr: this.#marked("stderr", stderr?.rest) };
    this.#streams = streams;
    this.#stream =
      from?.adopted.stream ?? sandbox.wire.open("process", toSpec(sandbox, contextCommand(options)), this.listener);
    this.ended = this.#stream.exit
      .then(
        (exit) => {
          from?.adopted.stream.release();
          for (const stream of Object.values(streams)) stream.end();
          this.#clean.end()?.catch(() => undefined);
          return this.#describe(exit);
        },
        (error) => tellLoss(sandbox, error),
      )
      .finally(() => {
        this.#done = true;
        return sandbox.endRun(false);
      });
    this.ended.catch(() => undefined); // whoever awaits it gets the error; nobody must
  }

  /** Starts the interpreter and waits until it takes requests. */
  static async start(sandbox: Sandbox, options: ContextOptions, listener: () => KernelListener): Promise<Kernel> {
    await sandbox.beginRun(false);
    let kernel: Kernel;
    try {
      kernel = new Kernel(sandbox, options, listener);
    } catch (error) {
      await sandbox.endRun(false);
      throw error;
    }
    const { textChars, richChars, results, traceChars, messageBytes } = contextLimits;
    const limits = { textChars, richChars, results, traceChars, messageBytes };
    kernel.#write({ mark: kernel.#mark.toString("hex"), limits }).catch(() => undefined); // its end is told below
    const timer = setTimeout(() => kernel.kill("it did not start in time"), contextLimits.startTimeoutMs);
    try {
      await Promise.race([kernel.#ready.promise, kernel.ended.then((end) => kernel.#refuseStart(end))]);
    } finally {
      clearTimeout(timer);
    }
    return kernel;
  }

  /** The kernel of a copy: it runs already. Its random numbers are to be others than the original's. */
  static adopt(sandbox: Sandbox, kernel: KernelState, adopted: Adopted, listener: () => KernelListener): Kernel {
    const begun = sandbox.beginRun(false);
    const made = new Kernel(sandbox, kernel.options, listener, { kernel, adopted });
    begun.catch(() => undefined); // what it should have prepared is prepared by the next run
    made.#write({ seed: randomBytes(seedBytes).toString("hex") }).catch(() => undefined); // its end is told to whoever runs
    return made;
  }

  /** As it stands now: its guest has ended, and all that it wrote was read. */
  state(): KernelState {
    const read = (channel: OutputChannel) => ({ bytes: this.#readBytes[channel], rest: this.#streams[channel].rest });
    return {
      stream: this.#stream.id,
      options: this.#options,
      mark: this.#mark,
      interrupts: this.#interrupts,
      read: { stdout: read("stdout"), stderr: read("stderr") },
    };
  }

  readonly listener: OutputListener = (channel, chunk) => {
    const again = Math.min(this.#again[channel], chunk.length);
    this.#again[channel] -= again;
    if (again > 0) this.#stream.consumed(channel, again);
    if (again === chunk.length) return;
    this.#readBytes[channel] += chunk.length - again;
    this.#receive(this.#streams[channel], channel, chunk.subarray(again));
  };

  /** A folder that is not there, or too little memory, is the caller's to change. */
  async #refuseStart({ reason, oom_killed }: ContextEnd): Promise<never> {
    const { language, cwd } = this.#options;
    const { startError } = await this.#stream.exit;
    if (startError !== null) throw errorOfErrno(startError, `cannot run ${language} in ${cwd ?? "/workspace"}`);
    const code = oom_killed ? "limit_exceeded" : "unavailable";
    throw new AppError(code, `the ${language} context could not be started: ${reason}`);
  }

  async send(request: KernelRequest): Promise<void> {
    this.#sandbox.touchFiles();
    this.#results = 0;
    await this.#write({ ...request, interrupts: this.#interrupts });
  }

  /** One at a time: signals that wait together become one, and the kernel counts them. */
  interrupt(): void {
    this.#interrupts++;
    this.#stream.signal(2);
  }

  kill(reason: string): void {
    if (this.#done) return;
    this.#killReason ??= reason;
    this.#stream.killTree();
  }

  async #write(request: object): Promise<void> {
    const body = Buffer.from(JSON.stringify(request));
    const header = Buffer.alloc(4);
    header.writeUInt32LE(body.length);
    await this.#stream.write(Buffer.concat([header, body]));
  }

  #marked(channel: OutputChannel, rest?: Buffer): MarkedStream {
    const output = (chunk: Buffer) => this.#clean.push(channel, chunk);
    return new MarkedStream(
      this.#mark,
      { output, frame: (kind, payload) => this.#frame(channel, kind, payload) },
      rest,
    );
  }

  #receive(stream: MarkedStream, channel: OutputChannel, chunk: Buffer): void {
    const consumed = () => this.#stream.consumed(channel, chunk.length);
    try {
      const wait = this.#killReason === undefined ? stream.push(chunk) : undefined;
      if (wait === undefined) consumed();
      else wait.finally(consumed).catch(() => undefined); // a listener's own error is its run's to tell
    } catch (error) {
      if (!(error instanceof KernelViolation)) throw error;
      this.kill(`its interpreter sent ${error.message}`);
      consumed();
    }
  }

  #frame(channel: OutputChannel, kind: string, payload: Buffer): void {
    // A frame comes after what was written before it, held back or not; a listener's own error is its run's to tell.
    this.#clean.cut(channel)?.catch(() => undefined);
    if (channel === "stderr" && kind === "S") return this.#listener().synced(Number(payload.toString("latin1")));
    if (channel === "stdout" && kind === "A") return this.#listener().interrupted();
    if (channel !== "stdout" || !"FMLW".includes(kind)) throw new KernelViolation("a frame of no known kind");
    const message = this.#assemble(kind, payload);
    if (message === undefined) return;
    if (message.type === "result" && ++this.#results > contextLimits.results)
      throw new KernelViolation("more results than it may");
    if (message.type === "ready") this.#ready.resolve();
    else this.#listener().message(this.#sandbox.redactor.value(message));
  }

  /** First, middle and last frames of a message, or a whole one. One that was cut off by an interrupt is dropped. */
  #assemble(kind: string, payload: Buffer): KernelMessage | undefined {
    if ("FW".includes(kind)) {
      this.#parts = [];
      this.#partBytes = 0;
    }
    // Whole frames but for the last: so the number of parts is bounded with their bytes.
    if ("FM".includes(kind) && payload.length !== fullPayloadBytes)
      throw new KernelViolation("a frame that is too short");
    this.#partBytes += payload.length;
    if (this.#partBytes > contextLimits.messageBytes) throw new KernelViolation("a message that is too long");
    this.#parts.push(Buffer.from(payload));
    if ("FM".includes(kind)) return undefined;
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#partBytes = 0;
    return parseKernelMessage(bytes);
  }

  async #describe(exit: ExitRecord): Promise<ContextEnd> {
    const outOfMemory = (await this.#sandbox.oomKilled()) || exit.memoryLimit;
    return {
      reason: this.#reason(exit, outOfMemory),
      exit_code: exit.exitCode,
      signal: signalName(exit.signal),
      oom_killed: outOfMemory,
    };
  }

  #reason(exit: ExitRecord, outOfMemory: boolean): string {
    const { language, limits: { memoryBytes } = {} } = this.#options;
    if (this.#killReason !== undefined) return this.#killReason;
    if (exit.startError !== null)
      return errorOfErrno(exit.startError, `cannot run ${language} in ${this.#options.cwd ?? "/workspace"}`).message;
    if (outOfMemory)
      return `out of memory: its limit was ${showBytes(memoryBytes ?? this.#sandbox.limits.memoryBytes)}`;
    if (exit.timedOut)
      return `past the ${showSeconds(this.#sandbox.background.mostMs)} that policy.background_seconds gives`;
    if (exit.cpuLimit) return `past its CPU time of ${showSeconds(requestLimits.cpuTimeMs.max)}`;
    if (exit.signal !== null) return `ended by ${signalName(exit.signal)}`;
    const known = exitReasons[exit.exitCode ?? -1];
    return `${known ?? "the code ended its interpreter"} (exit code ${exit.exitCode})`;
  }
}

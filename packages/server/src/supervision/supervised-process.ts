import type { Readable, Writable } from "node:stream";
import { AppError, errorCodes } from "../core/errors.ts";
import { LineReader } from "../core/line-reader.ts";
import { supervisionLimits } from "./limits.ts";

/** A process that was just started, with pipes. */
export interface PipedProcess {
  readonly pid?: number | undefined;
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  kill(signal: NodeJS.Signals): boolean;
  on(event: "exit", listener: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
}

export interface SupervisedProcessOptions<Ready> {
  name: string;
  process: PipedProcess;
  /** First message to the process. */
  configuration: object;
  /** The other end has fewer rights than this process: what it says is checked. */
  parseReady: (value: unknown) => Ready;
  log: (name: string, text: string) => void;
}

/** A process that this one started and ends: it leaves when its standard input does. */
export class SupervisedProcess<Ready> {
  readonly pid: number | undefined;
  readonly startedAt = new Date();
  readonly ready: Promise<Ready>;
  /** Resolves with how it ended. */
  readonly ended: Promise<string>;
  readonly #process: PipedProcess;
  readonly #readyGate = Promise.withResolvers<Ready>();

  constructor({ name, process, configuration, parseReady, log }: SupervisedProcessOptions<Ready>) {
    this.#process = process;
    this.pid = process.pid;
    this.ready = this.#readyGate.promise;
    this.ready.catch(() => undefined);
    this.ended = new Promise((resolve) => {
      process.on("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
      process.on("error", (error) => resolve(error.message));
    });
    this.ended.then((how) => this.#readyGate.reject(new AppError("unavailable", `the ${name} ended (${how})`)));
    const messages = new LineReader(supervisionLimits.messageBytes);
    process.stdout?.on("data", (chunk: Buffer) => {
      try {
        messages.push(chunk);
        for (let line = messages.next(); line !== undefined; line = messages.next()) this.#take(line, parseReady);
      } catch (cause) {
        this.#readyGate.reject(new AppError("internal", `the ${name} says what cannot be read`, { cause }));
        process.kill("SIGKILL");
      }
    });
    process.stderr?.setEncoding("utf8").on("data", (text: string) => log(name, text));
    process.stdin?.on("error", () => undefined); // its end tells
    process.stdin?.write(`${JSON.stringify(configuration)}\n`);
  }

  #take(line: string, parseReady: (value: unknown) => Ready): void {
    const message: unknown = JSON.parse(line);
    if (typeof message !== "object" || message === null) throw new AppError("invalid", "no message");
    if ("ready" in message) this.#readyGate.resolve(parseReady(message.ready));
    else if ("failed" in message) this.#readyGate.reject(failureOf(message.failed));
  }

  /** Sends it a message while it runs. */
  tell(message: object): void {
    this.#process.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  /** Lets it finish what it does, for a while. */
  async stop(): Promise<void> {
    this.#process.stdin?.end();
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), supervisionLimits.stopTimeoutMs);
    await this.ended;
    clearTimeout(timer);
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }
}

function failureOf(failed: unknown): AppError {
  const { code, message, hint } = (typeof failed === "object" ? failed : null) as Record<string, unknown>;
  const known = errorCodes.find((one) => one === code) ?? "internal";
  return new AppError(known, String(message), typeof hint === "string" ? { hint } : {});
}

/** Starts the program of a version in its sandbox, so that it can be spoken to. */
import { type Duplex, Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../core/errors.ts";
import type { ServedProgram } from "../core/served-program.ts";
import type { ServerTransport } from "../core/server.ts";
import type { LinkCarrier } from "../core/server-link.ts";
import { abortable } from "./abortable.ts";
import { serverLimits } from "./limits.ts";
import type { RunningSandbox } from "./server-sandboxes.ts";

export interface ProgramOptions {
  command: readonly string[];
  transport: ServerTransport;
  port: number;
  log: (piece: Buffer) => Promise<void>;
  signal: AbortSignal;
}

/** Host field of requests: what servers that look at it take for their own name. */
export const hostOf = (port: number): string => `127.0.0.1:${port}`;

export interface StartedProgram {
  carrier: LinkCarrier;
  ended: Promise<string>;
  /** Asks it to end, then ends it. */
  end(): Promise<void>;
}

export async function startProgram(sandbox: RunningSandbox, options: ProgramOptions): Promise<StartedProgram> {
  return options.transport === "stdio" ? startStdio(sandbox, options) : startHttp(sandbox, options);
}

async function startStdio(sandbox: RunningSandbox, { command, log }: ProgramOptions): Promise<StartedProgram> {
  const output = new ProgramOutput();
  const program = await sandbox.run({ command, hasInput: true, logsStdout: false, log, stdout: output.take });
  const ended = program.ended.then((why) => {
    output.close();
    return why;
  });
  return { carrier: { kind: "stdio", input: inputOf(program), output: output.readable }, ended, end: ender(program) };
}

async function startHttp(
  sandbox: RunningSandbox,
  { command, port, log, signal }: ProgramOptions,
): Promise<StartedProgram> {
  const program = await sandbox.run({ command, hasInput: false, logsStdout: true, log });
  const end = ender(program);
  try {
    await awaitPort(sandbox, port, program.ended, signal);
  } catch (error) {
    await end();
    throw error;
  }
  const dial = () => sandbox.dial(port);
  return { carrier: { kind: "http", dial, host: hostOf(port) }, ended: program.ended, end };
}

/** Resolves when something listens on the port; rejects when the program ends before, or takes too long. */
async function awaitPort(
  sandbox: RunningSandbox,
  port: number,
  ended: Promise<string>,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const late = AbortSignal.timeout(serverLimits.startMs);
  void ended.then((why) => over.abort(new AppError("unavailable", `the program ended before it listened: ${why}`)));
  const any = AbortSignal.any([signal, over.signal, late]);
  try {
    while (!(await listens(sandbox, port))) await sleep(serverLimits.portLookMs, undefined, { signal: any });
  } catch {
    signal.throwIfAborted();
    over.signal.throwIfAborted();
    throw new AppError("timeout", `nothing listens on port ${port} after ${serverLimits.startMs / 1_000} s`, {
      hint: "the server must listen on 0.0.0.0 at its configured port, or speak over standard input and output",
    });
  }
}

export async function listens(sandbox: RunningSandbox, port: number): Promise<boolean> {
  let connection: Duplex;
  try {
    connection = await sandbox.dial(port);
  } catch {
    return false;
  }
  connection.on("error", () => undefined).destroy();
  return true;
}

export function ender(program: ServedProgram): () => Promise<void> {
  return async () => {
    program.signal(terminate);
    const late = AbortSignal.timeout(serverLimits.graceMs);
    await abortable(program.ended, late).catch(() => program.kill());
    await program.ended;
  };
}

const terminate = 15;

export function inputOf(program: ServedProgram): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      program.write(chunk).then(
        (open) => done(open ? null : new AppError("unavailable", "the server has closed its standard input")),
        (error: unknown) => done(error as Error),
      );
    },
  }).on("error", () => undefined); // who writes is told by the end of the instance
}

/** Output as a stream: a piece counts as taken when its reader has room for more. */
export class ProgramOutput {
  #taken: (() => void) | undefined;
  readonly readable = new Readable({
    read: () => {
      this.#taken?.();
      this.#taken = undefined;
    },
  });

  readonly take = (chunk: Buffer): Promise<void> | undefined => {
    if (this.readable.destroyed || this.readable.push(Buffer.from(chunk))) return undefined;
    return new Promise((resolve) => {
      this.#taken = resolve;
    });
  };

  close(): void {
    this.#taken?.();
    if (!this.readable.destroyed) this.readable.push(null);
  }
}

import type { Redactor } from "../core/redaction.ts";
import type { RunIo, RunResult } from "../core/run.ts";
import type { OutputChannel } from "../core/wire.ts";
import { CleanOutput } from "../dlp/clean-output.ts";
import { Capture } from "./capture.ts";

interface OutputOptions {
  outputBytes: number;
  onOutput: RunIo["onOutput"];
  redactor: Redactor;
  /** What the listener throws; it is not called again. */
  fail: (error: unknown) => void;
}

/** Where the output of a run goes: to its caller's listener, or into its result. */
export class RunOutput {
  readonly #captures: Record<OutputChannel, Capture>;
  readonly #clean: CleanOutput<OutputChannel>;
  readonly #options: OutputOptions;
  #failed = false;

  constructor(options: OutputOptions) {
    this.#options = options;
    const { outputBytes, redactor } = options;
    this.#captures = { stdout: new Capture(outputBytes), stderr: new Capture(outputBytes) };
    const streams = { stdout: redactor.stream("mark"), stderr: redactor.stream("mark") };
    this.#clean = new CleanOutput(streams, (channel, piece) => this.#give(channel, piece));
  }

  /** Undefined when the chunk is done with. Never fails. */
  take(channel: OutputChannel, chunk: Buffer): Promise<unknown> | undefined {
    return this.#clean.push(channel, chunk);
  }

  /** Nothing more comes. Undefined when all is done with. */
  end(): Promise<unknown> | undefined {
    return this.#clean.end();
  }

  result(): Pick<RunResult, "stdout" | "stderr" | "truncated"> {
    const { stdout, stderr } = this.#captures;
    return { stdout: stdout.text(), stderr: stderr.text(), truncated: stdout.truncated || stderr.truncated };
  }

  #give(channel: OutputChannel, piece: Buffer): Promise<void> | undefined {
    const { onOutput } = this.#options;
    if (onOutput === undefined) {
      this.#captures[channel].add(piece);
      return undefined;
    }
    if (this.#failed) return undefined;
    try {
      return onOutput(channel, piece)?.catch(this.#fail);
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  readonly #fail = (error: unknown): void => {
    this.#failed = true;
    this.#options.fail(error);
  };
}

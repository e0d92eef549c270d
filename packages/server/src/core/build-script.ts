/** Programs that make a layer, one after the other, as named steps. */
import { AppError } from "./errors.ts";
import type { RunOptions } from "./run.ts";

export interface Script {
  name: string;
  /** For bash. Words that come from a specification are its arguments, never part of it. */
  text: string;
  words?: readonly string[];
}

/** Output, end and steps of a build under way. */
export interface StepProgress {
  log: { write(chunk: Buffer | string): Promise<void> };
  signal: AbortSignal;
  begin(step: string): Promise<void>;
}

export interface ScriptOptions extends Pick<RunOptions, "env" | "stdin"> {
  /** Default: that of images. */
  timeoutMs?: number;
}

/** In the words of a sandbox, whose paths are nobody else's. */
export class StepFailure extends AppError {}

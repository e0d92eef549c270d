/** Takes known values, in all forms of SEC-06, out of what leaves. */
export const redacted = "***REDACTED***";

/** `mark`: a value becomes `***REDACTED***`. `fill`: as many bytes as it had, for what is addressed by offset. */
export type RedactionMode = "mark" | "fill";

/** One direction of one stream; stdout and stderr have one each. */
export interface RedactionStream {
  /** What may go out now: parts of the chunk itself where nothing was found, never a copy of all of it. */
  push(chunk: Buffer): Buffer[];
  /** Held back because it may be the beginning of a value. */
  readonly heldBytes: number;
  /** The little of it that may go out while nothing more comes. A value that goes on after it loses the rest. */
  release(): Buffer[];
  end(): Buffer[];
}

/** The values that must not leave one sandbox. */
export interface Redactor {
  /** Takes these out too, from now on, of streams that are open as well. What was hidden once stays so. */
  hide(values: readonly Buffer[]): void;
  /** What it takes out, for a copy of that sandbox. */
  readonly hidden: readonly Buffer[];
  /** How far a value may reach beyond one of its bytes; 0 when there is none. */
  readonly reachBytes: number;
  stream(mode: RedactionMode): RedactionStream;
  text(text: string): string;
  /** Every string in it, keys too; the same object when nothing was found. */
  value<T>(value: T): T;
}

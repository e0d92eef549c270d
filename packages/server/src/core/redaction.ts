/** Takes known values, in all forms of SEC-06, out of what leaves. */
export const redacted = "***REDACTED***";

/** `mark`: a value becomes `***REDACTED***`. `fill`: as many bytes as it had, for what is addressed by offset. */
export type RedactionMode = "mark" | "fill";

/** One direction of one stream; stdout and stderr have one each. */
export interface RedactionStream {
  /** Returns what may go out now: parts of the chunk itself where nothing was found, never a copy of all of it. */
  push(chunk: Buffer): Buffer[];
  /** All that was pushed so far. */
  readonly receivedBytes: number;
  /** The last bytes of every text wait, as many as the longest form of a value has. */
  readonly heldBytes: number;
  /** Releases what waits, up to a place in the stream. Of a value that is complete only later, the rest is masked. */
  release(toBytes?: number): Buffer[];
  /** Releases all that waits. A part of a value is no value. */
  end(): Buffer[];
}

/** The values that must not leave one sandbox. */
export interface Redactor {
  /** Takes these out too, from now on, of streams that are open as well. What was hidden once stays so. */
  hide(values: readonly Buffer[]): void;
  /** Values that it masks, for a copy of that sandbox. */
  readonly hidden: readonly Buffer[];
  /** How far a value may reach beyond one of its bytes; 0 when there is none. */
  readonly reachBytes: number;
  stream(mode: RedactionMode): RedactionStream;
  text(text: string): string;
  /** A host's name as it may be shown: without the labels up to the last that a value stands in, in whatever case. The same where none does. */
  hostName(name: string): string;
  /** Every string in it, keys too; the same object when nothing was found. */
  value<T>(value: T): T;
  /** Looks for a value in bytes that come in pieces; once it was there it is hidden, and `found` is called. */
  notice(value: Buffer, found: () => void): (piece: Buffer) => void;
  /** Calls the listener when output holds halves of values again and again. */
  watch(listener: () => void): void;
}

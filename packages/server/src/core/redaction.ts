/** Takes known values, in all forms of SEC-06, out of what leaves. */
export const redacted = "***REDACTED***";

/** One direction of one stream; stdout and stderr have one each. */
export interface RedactionStream {
  /** What may go out now: parts of the chunk itself where nothing was found, never a copy of all of it. */
  push(chunk: Buffer): Buffer[];
  /** Held back because it may be the beginning of a value; `end` decides it. */
  readonly heldBytes: number;
  end(): Buffer[];
}

/** The values bound to one sandbox, compiled. */
export interface Redactor {
  stream(): RedactionStream;
  text(text: string): string;
  /** Every string in it, keys too; the same object when nothing was found. */
  value<T>(value: T): T;
}

import type { Finding } from "../core/validation.ts";

export type TextRange = Pick<Finding, "line" | "column" | "endLine" | "endColumn">;

/** Lines and columns of offsets in UTF-16 units; a line ends with LF, CR LF or CR, a column is a code point. */
export class Positions {
  readonly #text: string;
  readonly #starts: number[] = [0];
  /** Where the last answer was: most questions come in order, and a line may be all of a text. */
  #last = { start: 0, offset: 0, column: 1 };

  constructor(text: string) {
    this.#text = text;
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit === 10 || (unit === 13 && text.charCodeAt(at + 1) !== 10)) this.#starts.push(at + 1);
    }
  }

  at(offset: number): { line: number; column: number } {
    const bounded = Math.min(Math.max(offset, 0), this.#text.length);
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= bounded) low = middle;
      else high = middle - 1;
    }
    const start = this.#starts[low] ?? 0;
    const isAfter = this.#last.start === start && this.#last.offset <= bounded;
    let column = isAfter ? this.#last.column : 1;
    for (let at = isAfter ? this.#last.offset : start; at < bounded; at += 1) {
      // The second half of a pair is no column of its own.
      if ((this.#text.charCodeAt(at) & 0xfc00) !== 0xdc00) column += 1;
    }
    this.#last = { start, offset: bounded, column };
    return { line: low + 1, column };
  }

  range(start: number, end: number): TextRange {
    const from = this.at(start);
    const to = this.at(Math.max(start, end));
    return { ...from, endLine: to.line, endColumn: to.column };
  }
}

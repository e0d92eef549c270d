import { searchLimits } from "./limits.ts";

const newline = 10;

export interface FoundLine {
  /** Both from 1; the column in bytes. */
  line: number;
  column: number;
  /** The line, or as much of it around the text as is told. */
  text: string;
}

/** Looks for a text in a file that comes in pieces: the first place of it in each line. */
export class LineSearch {
  readonly #text: Buffer;
  readonly #ignoresCase: boolean;
  #bytes: Buffer = Buffer.alloc(0);
  #folded: Buffer = this.#bytes;
  /** Offset in the file of the first of `#bytes`. */
  #base = 0;
  /** Newlines before this place are counted. */
  #counted = 0;
  #line = 1;
  #lineAt = 0;
  #from = 0;
  /** The rest of the line was told. */
  #skips = false;

  constructor(text: Buffer, ignoresCase: boolean) {
    this.#ignoresCase = ignoresCase;
    this.#text = this.#fold(text);
  }

  *add(piece: Buffer): Generator<FoundLine, void> {
    this.#bytes = Buffer.concat([this.#bytes, piece]);
    this.#folded = this.#ignoresCase ? Buffer.concat([this.#folded, this.#fold(piece)]) : this.#bytes;
    yield* this.#find(false);
    this.#drop();
  }

  *end(): Generator<FoundLine, void> {
    yield* this.#find(true);
  }

  *#find(isWhole: boolean): Generator<FoundLine, void> {
    const { lineBytes, contextBytes } = searchLimits;
    for (;;) {
      if (this.#skips) {
        const end = this.#bytes.indexOf(newline, this.#from);
        this.#from = end < 0 ? this.#bytes.length : end + 1;
        if (end < 0) return;
        this.#skips = false;
      }
      const at = this.#folded.indexOf(this.#text, this.#from);
      if (at < 0) {
        this.#from = Math.max(this.#from, this.#bytes.length - this.#text.length + 1);
        return;
      }
      this.#from = at;
      if (!isWhole && this.#bytes.length - at < lineBytes + contextBytes) return; // its line may go on
      yield this.#show(at);
      this.#skips = true;
    }
  }

  #show(at: number): FoundLine {
    const { lineBytes, contextBytes } = searchLimits;
    this.#count(at);
    let start = Math.max(0, this.#lineAt - this.#base);
    if (at - start > contextBytes && at + this.#text.length - start > lineBytes) start = at - contextBytes;
    const shown = this.#bytes.subarray(start, start + lineBytes);
    const end = shown.indexOf(newline);
    return {
      line: this.#line,
      column: this.#base + at - this.#lineAt + 1,
      text: shown.toString("utf8", 0, end < 0 ? shown.length : end),
    };
  }

  /** A call for each line would cost more than its bytes. */
  #count(to: number): void {
    const bytes = this.#bytes;
    let start = -1;
    for (let at = this.#counted; at < to; at++) {
      if (bytes[at] !== newline) continue;
      this.#line++;
      start = at + 1;
    }
    if (start >= 0) this.#lineAt = this.#base + start;
    this.#counted = Math.max(this.#counted, to);
  }

  /** Drops what lies before the current line. */
  #drop(): void {
    const drop = Math.max(0, this.#from - searchLimits.lineBytes);
    this.#count(drop);
    this.#bytes = this.#bytes.subarray(drop);
    this.#folded = this.#ignoresCase ? this.#folded.subarray(drop) : this.#bytes;
    this.#base += drop;
    this.#from -= drop;
    this.#counted = Math.max(0, this.#counted - drop);
  }

  /** ASCII letters in lower case. */
  #fold(bytes: Buffer): Buffer {
    if (!this.#ignoresCase) return bytes;
    return Buffer.from(bytes.map((byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte)));
  }
}

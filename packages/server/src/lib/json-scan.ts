/** Bounds of a JSON text. A string that is a value may have any length. */
export interface JsonBounds {
  /** Values and names together. */
  readonly values: number;
  readonly names: number;
  readonly depth: number;
  /** Bytes of one name, or of one number, as written. */
  readonly wordBytes: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const isSpace = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

const isNumeric = (byte: number) => byte === MINUS || (byte >= ZERO && byte <= NINE);
/** Whole numbers of so many digits are the same in a double. */
const exactDigits = 15;

/** Names that reach a prototype where an object is copied: `__proto__`, and `prototype` in a `constructor`. */
const harmfulFirst = Buffer.from("_cp\\");
/** The longest of them with each letter written as `\u0063`. */
const harmfulBytes = 6 * "constructor".length;

/**
 * Counts what a JSON text holds, in its bytes, before a parser reads them: a parser needs far more time and memory for many
 * small values than for one long string. The grammar is the parser's business: of text that is no JSON at least the part that
 * a parser reads is counted.
 */
export class JsonScan {
  readonly #bounds: JsonBounds;
  #why: string | undefined;
  #values = 0;
  #names = 0;
  #depth = 0;
  #inString = false;
  #inWord = false;
  #afterBackslash = false;
  /** The last token was a string, which a colon makes a name. */
  #wasString = false;
  /** Bytes of the string or the word that is being read, or was read last. */
  #stringBytes = 0;
  #wordBytes = 0;
  #wordStart = 0;
  /** Start of that string, kept while it could be a harmful name. */
  readonly #start = Buffer.alloc(harmfulBytes);
  /** The value that comes next is that of a `constructor`; and whether the object at each depth is one. */
  #isConstructor = false;
  readonly #constructors: Uint8Array;
  #harms = false;
  #isInexact = false;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
    this.#constructors = new Uint8Array(bounds.depth + 1);
  }

  /** Takes the next piece; says why a parser must not have the text, as soon as that is known. */
  push(piece: Uint8Array): string | undefined {
    for (let at = 0; at < piece.length && this.#why === undefined; )
      at = this.#inString ? this.#readString(piece, at) : this.#readToken(piece, at);
    return this.#why;
  }

  /** True after a name that reaches a prototype, in any spelling. */
  get namesPrototype(): boolean {
    return this.#harms;
  }

  /** Number of names, each counted as often as it is written. */
  get names(): number {
    return this.#names;
  }

  /** True after a number that a double may not write back as it was: `1.0`, `1e3`, `-0`, or one of more than 15 digits. */
  get hasInexactNumber(): boolean {
    return this.#isInexact;
  }

  /** Goes on to the end of the string, or of the piece. */
  #readString(piece: Uint8Array, from: number): number {
    let at = from;
    let afterBackslash = this.#afterBackslash;
    for (; at < piece.length; at++) {
      const byte = piece[at];
      if (afterBackslash) afterBackslash = false;
      else if (byte === BACKSLASH) afterBackslash = true;
      else if (byte === QUOTE) break;
    }
    this.#afterBackslash = afterBackslash;
    for (let next = from; next < at && this.#stringBytes + next - from < harmfulBytes; next++)
      this.#start[this.#stringBytes + next - from] = piece[next] as number;
    this.#stringBytes += at - from;
    if (at === piece.length) return at;
    this.#inString = false;
    this.#wasString = true;
    return at + 1;
  }

  /** One byte outside of strings. */
  #readToken(piece: Uint8Array, at: number): number {
    const byte = piece[at] as number;
    const inWord = this.#inWord;
    this.#inWord = false;
    if (isSpace(byte)) return at + 1;
    if (byte === COLON) this.#endName();
    else if (byte === QUOTE) this.#beginString();
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) this.#open(byte === OPEN_OBJECT);
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) this.#depth = Math.max(0, this.#depth - 1);
    else if (byte !== COMMA) this.#readWord(inWord, byte);
    this.#wasString = false;
    return at + 1;
  }

  #count(): void {
    if (++this.#values > this.#bounds.values) this.#why = `more than ${this.#bounds.values} values and names`;
  }

  #beginString(): void {
    this.#count();
    this.#inString = true;
    this.#stringBytes = 0;
  }

  /** A number, `true`, `false` or `null`. */
  #readWord(isSame: boolean, byte: number): void {
    this.#inWord = true;
    this.#isConstructor = false;
    if (!isSame) this.#count();
    this.#wordBytes = isSame ? this.#wordBytes + 1 : 1;
    if (!isSame) this.#wordStart = byte;
    if (this.#wordBytes > 1 && isNumeric(this.#wordStart)) this.#isInexact ||= this.#mayRound(byte);
    if (this.#wordBytes > this.#bounds.wordBytes) this.#tooLong();
  }

  #mayRound(byte: number): boolean {
    const isNegativeZero = this.#wordStart === MINUS && this.#wordBytes === 2 && byte === ZERO;
    return isNegativeZero || byte === DOT || byte > NINE || this.#wordBytes > exactDigits;
  }

  #open(isObject: boolean): void {
    this.#count();
    if (++this.#depth > this.#bounds.depth) {
      this.#why = `values nested more than ${this.#bounds.depth} deep`;
      return;
    }
    this.#constructors[this.#depth] = isObject && this.#isConstructor ? 1 : 0;
    this.#isConstructor = false;
  }

  #endName(): void {
    if (!this.#wasString) return;
    if (++this.#names > this.#bounds.names) this.#why = `more than ${this.#bounds.names} names`;
    if (this.#stringBytes > this.#bounds.wordBytes) this.#tooLong();
    this.#isConstructor = false;
    if (this.#stringBytes > harmfulBytes || !harmfulFirst.includes(this.#start[0] as number)) return;
    const name = unescaped(this.#start.toString("latin1", 0, this.#stringBytes));
    this.#isConstructor = name === "constructor";
    if (name === "__proto__" || (name === "prototype" && this.#constructors[this.#depth] === 1)) this.#harms = true;
  }

  #tooLong(): void {
    this.#why = `a name or number of more than ${this.#bounds.wordBytes} bytes`;
  }
}

function unescaped(name: string): string {
  if (!name.includes("\\")) return name;
  try {
    return JSON.parse(`"${name}"`);
  } catch {
    return name; // no JSON
  }
}

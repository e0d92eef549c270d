import type { RedactionStream, Redactor } from "../core/redaction.ts";
import type { SearchMatch } from "../core/search.ts";
import { LineSearch } from "./line-search.ts";
import { badRow } from "./search-rows.ts";

/** Files one after the other, as a reader sees them: filled, so that columns hold. */
export class MaskedFile {
  readonly #redactor: Redactor;
  readonly #text: Buffer;
  readonly #ignoresCase: boolean;
  #file: { path: string; masked: RedactionStream; lines: LineSearch } | undefined;

  constructor(redactor: Redactor, text: Buffer, ignoresCase: boolean) {
    this.#redactor = redactor;
    this.#text = text;
    this.#ignoresCase = ignoresCase;
  }

  begin(path: string): void {
    const lines = new LineSearch(this.#text, this.#ignoresCase);
    this.#file = { path, masked: this.#redactor.stream("fill"), lines };
  }

  *add(bytes: Buffer): Generator<SearchMatch, void> {
    if (this.#file === undefined) throw badRow();
    const { path, masked, lines } = this.#file;
    for (const piece of masked.push(bytes))
      for (const found of lines.add(piece)) yield { path, type: "file", ...found };
  }

  /** All of the file was there. Without it the last bytes are not looked through: the rest of a value may follow them. */
  *end(): Generator<SearchMatch, void> {
    if (this.#file === undefined) throw badRow();
    const { path, masked, lines } = this.#file;
    this.#file = undefined;
    for (const piece of masked.end()) for (const found of lines.add(piece)) yield { path, type: "file", ...found };
    for (const found of lines.end()) yield { path, type: "file", ...found };
  }
}

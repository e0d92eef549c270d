import type { StreamWithSummary } from "../core/archive.ts";
import { AppError } from "../core/errors.ts";
import { sandboxLimits } from "../core/limits.ts";
import type { Redactor } from "../core/redaction.ts";
import type { SearchMatch, SearchSummary } from "../core/search.ts";
import type { StreamSpec, Wire } from "../core/wire.ts";
import { typeOfMode } from "./file-rows.ts";
import { searchLimits } from "./limits.ts";
import { MaskedFile } from "./masked-file.ts";
import { badRow, type SearchRow, searchRows } from "./search-rows.ts";

/**
 * Searches what a reader would see, in a sandbox with values that must not leave it (S87). The worker sends whole files and every
 * name, so what it does, and how long, does not depend on the text; and nothing compares the text with a value. The worker does
 * compare a pattern with names, so there is no search by name where a name holds a value.
 */
export class MaskedSearch implements StreamWithSummary<SearchMatch, SearchSummary> {
  summary: SearchSummary | undefined;
  readonly #wire: Wire;
  readonly #spec: StreamSpec;
  readonly #redactor: Redactor;
  #filesRead = 0;

  constructor(wire: Wire, spec: StreamSpec, redactor: Redactor) {
    this.#wire = wire;
    this.#spec = spec;
    this.#redactor = redactor;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SearchMatch, void> {
    const limit = this.#spec.count ?? 0;
    let matches = 0;
    for await (const found of this.#all()) {
      if (matches === limit) {
        this.summary = { matches, filesRead: this.#filesRead, truncated: true };
        return;
      }
      matches++;
      yield found;
    }
    if (this.summary !== undefined) this.summary = { ...this.summary, matches };
  }

  async *#all(): AsyncGenerator<SearchMatch, void> {
    const { text, ignoreCase, ...spec } = this.#spec;
    const asked = { ...spec, count: sandboxLimits.listBytes, ignoreCase: ignoreCase ?? false };
    if (this.#hasPattern) await this.#checkNames(asked);
    if (text === undefined) return yield* this.#names(asked);
    const file = new MaskedFile(this.#redactor, Buffer.from(text), ignoreCase ?? false);
    for await (const row of searchRows(this.#wire, { ...asked, length: searchLimits.maskedBytes, whole: true })) {
      if (row.end !== undefined || row.path !== "") {
        this.#tell(row);
        if (row.end === undefined) this.#filesRead++;
        file.begin(this.#shown(row));
      } else yield* row.bytes.length === 0 ? file.end() : file.add(row.bytes);
    }
  }

  async *#names(spec: StreamSpec): AsyncGenerator<SearchMatch, void> {
    for await (const row of searchRows(this.#wire, spec)) {
      this.#tell(row);
      if (row.end === undefined && row.path === "") throw badRow();
      if (row.end === undefined) yield { path: this.#shown(row), type: typeOfMode(row.mode) };
    }
  }

  /** A star alone matches each name alike. */
  get #hasPattern(): boolean {
    return this.#spec.name !== undefined && this.#spec.name !== "*";
  }

  /** Looks at all names before the worker gets the pattern, so that the refusal does not depend on it. */
  async #checkNames({ name: _pattern, ...spec }: StreamSpec): Promise<void> {
    for await (const row of searchRows(this.#wire, spec)) this.#shown(row);
  }

  #shown({ path }: SearchRow): string {
    const shown = this.#redactor.text(path);
    if (!this.#hasPattern || shown === path) return shown;
    throw new AppError("unsupported", "cannot search by name: the name of a file contains a secret value", {
      hint: "search by text alone, search another folder, or rename the file",
    });
  }

  #tell({ end }: SearchRow): void {
    if (end === undefined) return;
    this.summary = { truncated: end.truncated, filesRead: this.#filesRead, matches: 0 };
  }
}

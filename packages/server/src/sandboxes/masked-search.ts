import type { Told } from "../core/archive.ts";
import { sandboxLimits, searchLimits } from "../core/limits.ts";
import type { Redactor } from "../core/redaction.ts";
import type { SearchMatch, SearchSummary } from "../core/search.ts";
import type { StreamSpec, Wire } from "../core/wire.ts";
import { typeOfMode } from "./file-rows.ts";
import { MaskedFile } from "./masked-file.ts";
import { badRow, type SearchRow, searchRows } from "./search-rows.ts";

/**
 * A search in a sandbox that has values which must not leave it: of what a reader would see (S87). The worker sends whole files and every
 * name, so what it does, and how long, does not depend on the text; and nothing compares the text with a value.
 */
export class MaskedSearch implements Told<SearchMatch, SearchSummary> {
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
    if (text === undefined) return yield* this.#names(asked);
    const file = new MaskedFile(this.#redactor, Buffer.from(text), ignoreCase ?? false);
    let isSkipped = false;
    for await (const row of searchRows(this.#wire, { ...asked, length: searchLimits.maskedBytes, whole: true })) {
      if (row.end !== undefined || row.path !== "") {
        this.#tell(row);
        isSkipped = this.#isHidden(row);
        if (!isSkipped && row.end === undefined) this.#filesRead++;
        if (!isSkipped) file.begin(this.#redactor.text(row.path));
      } else if (!isSkipped) yield* row.bytes.length === 0 ? file.end() : file.add(row.bytes);
    }
  }

  async *#names(spec: StreamSpec): AsyncGenerator<SearchMatch, void> {
    for await (const row of searchRows(this.#wire, spec)) {
      this.#tell(row);
      if (row.end === undefined && row.path === "") throw badRow();
      if (row.end === undefined && !this.#isHidden(row)) yield { path: row.path, type: typeOfMode(row.mode) };
    }
  }

  /** Names that hold a value are not found by name: the worker has compared what a reader does not see. */
  #isHidden({ path }: SearchRow): boolean {
    return this.#spec.name !== undefined && this.#redactor.text(path) !== path;
  }

  #tell({ end }: SearchRow): void {
    if (end === undefined) return;
    this.summary = { truncated: end.truncated, filesRead: this.#filesRead, matches: 0 };
  }
}

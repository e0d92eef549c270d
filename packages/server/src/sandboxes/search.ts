import type { StreamWithSummary } from "../core/archive.ts";
import { AppError } from "../core/errors.ts";
import { sandboxLimits } from "../core/limits.ts";
import type { Redactor } from "../core/redaction.ts";
import type { SearchMatch, SearchOptions, SearchSummary } from "../core/search.ts";
import type { StreamSpec, Wire } from "../core/wire.ts";
import { typeOfMode } from "./file-rows.ts";
import { searchLimits } from "./limits.ts";
import { MaskedSearch } from "./masked-search.ts";
import { badRow, type SearchRow, searchRows } from "./search-rows.ts";

function specOf(path: string, options: SearchOptions): StreamSpec {
  const { name, text, limit = searchLimits.matches.default } = options;
  const { min, max } = searchLimits.matches;
  if (name === undefined && text === undefined) throw new AppError("invalid", "missing name or text to search for");
  if (!Number.isSafeInteger(limit) || limit < min || limit > max)
    throw new AppError("invalid", `limit: ${limit} is not between ${min} and ${max}`);
  if (name !== undefined && (name === "" || name.includes("\0") || Buffer.byteLength(name) >= sandboxLimits.pathBytes))
    throw new AppError("invalid", "the name pattern is empty, too long, or contains a NUL byte");
  if (text !== undefined && (text === "" || /[\0\n]/.test(text) || Buffer.byteLength(text) > searchLimits.textBytes))
    throw new AppError(
      "invalid",
      `the text is empty, longer than ${searchLimits.textBytes} bytes, or more than one line`,
    );
  return {
    path,
    count: limit,
    length: searchLimits.bytes,
    fileBytes: searchLimits.fileBytes,
    lineBytes: searchLimits.lineBytes,
    cpuMs: searchLimits.cpuMs,
    ignoreCase: options.ignoreCase ?? false,
    binary: options.binary ?? false,
    ...(name === undefined ? {} : { name }),
    ...(text === undefined ? {} : { text }),
  };
}

class FolderSearch implements StreamWithSummary<SearchMatch, SearchSummary> {
  summary: SearchSummary | undefined;
  readonly #wire: Wire;
  readonly #spec: StreamSpec;
  readonly #redactor: Redactor;

  constructor(wire: Wire, spec: StreamSpec, redactor: Redactor) {
    this.#redactor = redactor;
    this.#wire = wire;
    this.#spec = spec;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SearchMatch, void> {
    let left = this.#spec.count ?? 0;
    for await (const row of searchRows(this.#wire, this.#spec)) {
      this.summary = row.end;
      if (row.end !== undefined) continue;
      if (left-- === 0) throw badRow();
      yield this.#redactor.value(this.#match(row));
    }
  }

  #match({ mode, path, bytes, line, column }: SearchRow): SearchMatch {
    const match: SearchMatch = { path, type: typeOfMode(mode) };
    return this.#spec.text === undefined ? match : { ...match, line, column, text: bytes.toString() };
  }
}

export function searchFolder(
  wire: Wire,
  path: string,
  options: SearchOptions,
  redactor: Redactor,
): StreamWithSummary<SearchMatch, SearchSummary> {
  const spec = specOf(path, options);
  return redactor.reachBytes === 0 ? new FolderSearch(wire, spec, redactor) : new MaskedSearch(wire, spec, redactor);
}

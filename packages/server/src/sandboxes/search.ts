import type { Told } from "../core/archive.ts";
import { AppError } from "../core/errors.ts";
import { sandboxLimits, searchLimits } from "../core/limits.ts";
import type { Redactor } from "../core/redaction.ts";
import type { SearchMatch, SearchOptions, SearchSummary } from "../core/search.ts";
import type { StreamSpec, Wire } from "../core/wire.ts";
import { typeOfMode } from "./file-rows.ts";
import { workerOutput } from "./worker-output.ts";

const rowBytes = 32;
const endMark = 0xffff_ffff;

function specOf(path: string, options: SearchOptions): StreamSpec {
  const { name, text, limit = searchLimits.matches.default } = options;
  const { min, max } = searchLimits.matches;
  if (name === undefined && text === undefined)
    throw new AppError("invalid", "a search is by name, by text, or by both");
  if (!Number.isSafeInteger(limit) || limit < min || limit > max)
    throw new AppError("invalid", `limit: ${limit} is not between ${min} and ${max}`);
  if (name !== undefined && (name === "" || name.includes("\0") || Buffer.byteLength(name) >= sandboxLimits.pathBytes))
    throw new AppError("invalid", "the name is empty, too long, or holds a NUL");
  if (text !== undefined && (text === "" || /[\0\n]/.test(text) || Buffer.byteLength(text) > searchLimits.textBytes))
    throw new AppError("invalid", `the text is empty, past ${searchLimits.textBytes} bytes, or more than a line`);
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

class FolderSearch implements Told<SearchMatch, SearchSummary> {
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
    let rest: Buffer = Buffer.alloc(0);
    let left = this.#spec.count ?? 0;
    for await (const chunk of workerOutput(this.#wire, "search", this.#spec)) {
      rest = Buffer.concat([rest, chunk]); // a copy: the chunk's buffer is written again
      while (rest.length >= rowBytes) {
        const pathSize = rest.readUInt32LE(4);
        const lineSize = rest.readUInt32LE(8);
        if (pathSize === endMark) {
          this.#end(rest);
          rest = rest.subarray(rowBytes);
          continue;
        }
        if (pathSize > sandboxLimits.pathBytes || lineSize > searchLimits.lineBytes || left === 0)
          throw new AppError("unavailable", "the sandbox sent a match that cannot be");
        const size = rowBytes + pathSize + lineSize;
        if (rest.length < size) break;
        yield this.#redactor.value(this.#match(rest, pathSize, size));
        rest = rest.subarray(size);
        left--;
      }
    }
    if (this.summary === undefined) throw new AppError("unavailable", "the sandbox did not end its search");
  }

  #match(row: Buffer, pathSize: number, size: number): SearchMatch {
    const path = row.toString("utf8", rowBytes, rowBytes + pathSize);
    const match: SearchMatch = { path, type: typeOfMode(row.readUInt32LE(0)) };
    if (this.#spec.text === undefined) return match;
    match.line = Number(row.readBigUInt64LE(16));
    match.column = Number(row.readBigUInt64LE(24));
    match.text = row.toString("utf8", rowBytes + pathSize, size);
    return match;
  }

  #end(row: Buffer): void {
    this.summary = {
      truncated: row.readUInt32LE(12) !== 0,
      filesRead: Number(row.readBigUInt64LE(16)),
      matches: Number(row.readBigUInt64LE(24)),
    };
  }
}

export function searchFolder(
  wire: Wire,
  path: string,
  options: SearchOptions,
  redactor: Redactor,
): Told<SearchMatch, SearchSummary> {
  return new FolderSearch(wire, specOf(path, options), redactor);
}

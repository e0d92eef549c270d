import { AppError } from "../core/errors.ts";
import { sandboxLimits } from "../core/limits.ts";
import type { StreamSpec, Wire } from "../core/wire.ts";
import { searchLimits } from "./limits.ts";
import { workerOutput } from "./worker-output.ts";

const rowBytes = 32;
const endMark = 0xffff_ffff;

/** A message of the worker: a match, or a file; or a piece of a file, which has no path; an empty one where the file was sent to its end. The last row has `end`. */
export interface SearchRow {
  mode: number;
  path: string;
  bytes: Buffer;
  line: number;
  column: number;
  end?: { truncated: boolean; filesRead: number; matches: number };
}

export function badRow(): AppError {
  return new AppError("unavailable", "invalid search result from the sandbox");
}

/** A row is valid until the next one is read. A piece of a file is unmasked, in one row or several. */
export async function* searchRows(wire: Wire, spec: StreamSpec): AsyncGenerator<SearchRow, void> {
  let rest: Buffer = Buffer.alloc(0);
  let left = 0;
  let hasEnded = false;
  for await (const chunk of workerOutput(wire, "search", spec)) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length > 0) {
      if (left > 0) {
        const bytes = rest.subarray(0, left);
        left -= bytes.length;
        rest = rest.subarray(bytes.length);
        yield { mode: 0, path: "", bytes, line: 0, column: 0 };
        continue;
      }
      const size = sizeOf(rest, spec.whole === true);
      if (hasEnded) throw badRow();
      if (size === undefined || rest.length < size.row) break;
      hasEnded = size.isEnd;
      left = size.piece;
      if (left === 0) yield parse(rest, size);
      rest = rest.subarray(size.row);
    }
    rest = Buffer.from(rest); // a copy: the chunk's buffer is written again
  }
  if (!hasEnded) throw new AppError("unavailable", "the sandbox did not finish the search");
}

interface RowSize {
  isEnd: boolean;
  path: number;
  /** With its path and line. */
  row: number;
  /** Bytes of a file that come after it. */
  piece: number;
}

function sizeOf(bytes: Buffer, isWhole: boolean): RowSize | undefined {
  if (bytes.length < rowBytes) return undefined;
  const path = bytes.readUInt32LE(4);
  const line = bytes.readUInt32LE(8);
  if (path === endMark) return { isEnd: true, path: 0, row: rowBytes, piece: 0 };
  const isPiece = isWhole && path === 0;
  const { pieceBytes, lineBytes } = searchLimits;
  if (path > sandboxLimits.pathBytes || line > (isPiece ? pieceBytes : lineBytes)) throw badRow();
  return { isEnd: false, path, row: rowBytes + path + (isPiece ? 0 : line), piece: isPiece ? line : 0 };
}

function parse(row: Buffer, { isEnd, path, row: size }: RowSize): SearchRow {
  const line = Number(row.readBigUInt64LE(16));
  const column = Number(row.readBigUInt64LE(24));
  const truncated = row.readUInt32LE(12) !== 0;
  return {
    mode: row.readUInt32LE(0),
    path: row.toString("utf8", rowBytes, rowBytes + path),
    bytes: row.subarray(rowBytes + path, size),
    line,
    column,
    ...(isEnd ? { end: { truncated, filesRead: line, matches: column } } : {}),
  };
}

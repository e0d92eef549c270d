import { AppError } from "../core/errors.ts";
import { sandboxLimits, searchLimits } from "../core/limits.ts";
import type { StreamSpec, Wire } from "../core/wire.ts";
import { workerOutput } from "./worker-output.ts";

const rowBytes = 32;
const endMark = 0xffff_ffff;

/** What the worker tells: a match, or a file; or a piece of a file, which has no path. The last has `end`. */
export interface SearchRow {
  mode: number;
  path: string;
  bytes: Buffer;
  line: number;
  column: number;
  end?: { truncated: boolean; filesRead: number; matches: number };
}

export function badRow(): AppError {
  return new AppError("unavailable", "the sandbox sent a match that cannot be");
}

/** What a row holds is valid until the next is asked for. */
export async function* searchRows(wire: Wire, spec: StreamSpec): AsyncGenerator<SearchRow, void> {
  const mostBytes = spec.whole === true ? searchLimits.pieceBytes : searchLimits.lineBytes;
  let rest: Buffer = Buffer.alloc(0);
  let hasEnded = false;
  for await (const chunk of workerOutput(wire, "search", spec)) {
    rest = Buffer.concat([rest, chunk]); // a copy: the chunk's buffer is written again
    while (rest.length >= rowBytes) {
      const pathSize = rest.readUInt32LE(4);
      const isEnd = pathSize === endMark;
      const size = rowBytes + (isEnd ? 0 : pathSize + rest.readUInt32LE(8));
      if (hasEnded || (!isEnd && (pathSize > sandboxLimits.pathBytes || size - rowBytes - pathSize > mostBytes)))
        throw badRow();
      if (rest.length < size) break;
      hasEnded = isEnd;
      yield parse(rest, isEnd ? 0 : pathSize, size, isEnd);
      rest = rest.subarray(size);
    }
  }
  if (!hasEnded) throw new AppError("unavailable", "the sandbox did not end its search");
}

function parse(row: Buffer, pathSize: number, size: number, isEnd: boolean): SearchRow {
  const line = Number(row.readBigUInt64LE(16));
  const column = Number(row.readBigUInt64LE(24));
  const truncated = row.readUInt32LE(12) !== 0;
  return {
    mode: row.readUInt32LE(0),
    path: row.toString("utf8", rowBytes, rowBytes + pathSize),
    bytes: row.subarray(rowBytes + pathSize, size),
    line,
    column,
    ...(isEnd ? { end: { truncated, filesRead: line, matches: column } } : {}),
  };
}

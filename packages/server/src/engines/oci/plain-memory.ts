/**
 * Saved memory whose pieces are stored as they are. gVisor reads its own format still, each piece a stream of deflate, and
 * whoever goes on from it does not decompress it once more: that is half of a restore. What it is made from was written by a
 * sandbox's kernel, and is hostile: every size in it is bounded (S73).
 */
import { type FileHandle, open } from "node:fs/promises";
import { promisify } from "node:util";
import { inflateRaw } from "node:zlib";
import { AppError } from "../../core/errors.ts";
import { plainLimits } from "../../core/fork-limits.ts";

const inflate = promisify(inflateRaw);
const magic = "gVisorSF";
const hashBytes = 32;
const storedBytes = 0xffff;

/** False, and nothing to be used, where it has another format or would be larger than it may be. */
export async function storePlain(from: string, to: string, mostBytes: number): Promise<boolean> {
  await using source = await open(from, "r");
  await using target = await open(to, "r+");
  const head = await readHead(source);
  if (head === undefined) return false;
  await target.appendFile(head.bytes);
  let at = head.bytes.length;
  let total = at;
  const { pieceBytes } = head;
  const under: Promise<Buffer[]>[] = [];
  const writeNext = async () => {
    const parts = (await under.shift()) ?? [];
    total += lengthOf(parts);
    if (total <= mostBytes) await target.writev(parts);
  };
  try {
    for (;;) {
      const packed = await readPiece(source, at, pieceBytes);
      if (packed === undefined) break;
      at += 4 + packed.length;
      const piece = toStored(packed, pieceBytes);
      piece.catch(() => undefined); // whoever waits for it is told
      under.push(piece);
      if (under.length >= plainLimits.atOnce) await writeNext();
      if (total > mostBytes) return false;
    }
    while (under.length > 0) await writeNext();
    return total <= mostBytes;
  } finally {
    await Promise.allSettled(under);
  }
}

interface Head {
  bytes: Buffer;
  pieceBytes: number;
}

/** The magic, what is said about the whole with its length before it and its hash behind it, and how large a piece is. */
async function readHead(file: FileHandle): Promise<Head | undefined> {
  const start = await readAt(file, 0, 16);
  if (start === undefined || start.toString("latin1", 0, 8) !== magic) return undefined;
  const about = start.readBigUInt64BE(8);
  if (about > plainLimits.aboutBytes) return undefined;
  const bytes = await readAt(file, 0, 16 + Number(about) + hashBytes + 4);
  const pieceBytes = bytes?.readUInt32BE(bytes.length - 4) ?? 0;
  if (bytes === undefined || pieceBytes === 0 || pieceBytes > plainLimits.pieceBytes) return undefined;
  return { bytes, pieceBytes };
}

async function readPiece(file: FileHandle, at: number, pieceBytes: number): Promise<Buffer | undefined> {
  const length = await readAt(file, at, 4);
  if (length === undefined) return undefined;
  const size = length.readUInt32BE(0);
  const piece = size > 2 * pieceBytes ? undefined : await readAt(file, at + 4, size);
  if (piece === undefined) throw new AppError("internal", "the saved memory ends within a piece");
  return piece;
}

/** All of it, or undefined at the file's end. */
async function readAt(file: FileHandle, at: number, size: number): Promise<Buffer | undefined> {
  const buffer = Buffer.allocUnsafe(size);
  for (let done = 0; done < size; ) {
    const { bytesRead } = await file.read(buffer, done, size - done, at + done);
    if (bytesRead === 0) return undefined;
    done += bytesRead;
  }
  return buffer;
}

/** One that is nearly nothing, as memory that was never written is, stays as it was. */
async function toStored(packed: Buffer, pieceBytes: number): Promise<Buffer[]> {
  if (packed.length * plainLimits.leastShare < pieceBytes) return [sizeOf(packed.length), packed];
  const plain = await inflate(packed, { chunkSize: pieceBytes + 64, maxOutputLength: pieceBytes });
  const parts: Buffer[] = [];
  for (let at = 0; at === 0 || at < plain.length; at += storedBytes) {
    const block = plain.subarray(at, at + storedBytes);
    parts.push(blockHead(block.length, at + storedBytes >= plain.length), block);
  }
  return [sizeOf(lengthOf(parts)), ...parts];
}

/** RFC 1951, 3.2.4: whether it is the last, no compression, the length and its complement. */
function blockHead(length: number, isLast: boolean): Buffer {
  const head = Buffer.alloc(5);
  head[0] = isLast ? 1 : 0;
  head.writeUInt16LE(length, 1);
  head.writeUInt16LE(length ^ 0xffff, 3);
  return head;
}

function sizeOf(length: number): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(length);
  return size;
}

const lengthOf = (parts: readonly Buffer[]) => parts.reduce((sum, { length }) => sum + length, 0);

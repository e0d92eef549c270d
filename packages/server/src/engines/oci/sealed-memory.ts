/**
 * Saved memory at rest: pieces of it, each compressed and then under AES-256-GCM with a key of this checkpoint's alone, which
 * the daemon gives and its vault keeps (S75). A piece that is missing, changed or in another place opens nothing.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import { AppError } from "../../core/errors.ts";
import { checkpointLimits } from "../../core/fork-limits.ts";

const pieceBytes = 1024 * 1024;
/** What a piece that cannot be compressed grows by, and more. */
const packedMost = pieceBytes + 4096;
/** Its length, and what comes after it. */
const headBytes = 4;
const tagBytes = 16;
const algorithm = "aes-256-gcm";
const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** The most that files of these sizes take once they are sealed. */
export const sealedBytes = (sizes: readonly number[]) =>
  sizes.reduce(
    (sum, size) => sum + size + (Math.floor(size / pieceBytes) + 1) * (packedMost - pieceBytes + headBytes + tagBytes),
    0,
  );

/** What comes after a piece: more of its file, the next file, or nothing. */
const kinds = ["more", "next", "last"] as const;
type Kind = (typeof kinds)[number];

/** No key seals twice: the number of the piece is nonce enough. */
function nonceOf(piece: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32LE(piece, 8);
  return nonce;
}

const aboutOf = (id: string, kind: Kind) => Buffer.from(`caisson checkpoint 2 ${id} ${kind}`);

/** Fills the buffer, as far as the file goes. */
async function fill(file: FileHandle, buffer: Buffer): Promise<number> {
  let size = 0;
  while (size < buffer.length) {
    const { bytesRead } = await file.read(buffer, size, buffer.length - size);
    if (bytesRead === 0) break;
    size += bytesRead;
  }
  return size;
}

/** The files of one memory, one behind the other. The last piece of each is shorter than the others, if only by being empty. */
export async function sealMemory(id: string, key: Buffer, files: readonly string[], to: string): Promise<void> {
  await using target = await open(to, "wx", 0o600);
  let piece = 0;
  const line = new Line(async (packed: Buffer, kind: Kind) => {
    const cipher = createCipheriv(algorithm, key, nonceOf(piece++), { authTagLength: tagBytes });
    cipher.setAAD(aboutOf(id, kind));
    const sealed = [cipher.update(packed), cipher.final(), cipher.getAuthTag()];
    await target.appendFile(Buffer.concat([headOf(packed.length, kind), ...sealed])); // all of it, or an error
  });
  for (const [index, path] of files.entries()) {
    await using source = await open(path, "r");
    for (let size = pieceBytes; size === pieceBytes; ) {
      const plain = Buffer.allocUnsafe(pieceBytes);
      size = await fill(source, plain);
      const end = index === files.length - 1 ? "last" : "next";
      await line.add(compress(plain.subarray(0, size), fast), size === pieceBytes ? "more" : end);
    }
  }
  await line.end();
  await target.sync();
}

export async function unsealMemory(id: string, key: Buffer, from: string, files: readonly string[]): Promise<void> {
  await using source = await open(from, "r");
  await using opened = new AsyncDisposableStack();
  const targets = await Promise.all(files.map(async (path) => opened.use(await open(path, "r+"))));
  const head = Buffer.alloc(headBytes);
  let file = 0;
  const line = new Line(async (plain: Buffer, target: FileHandle) => target.appendFile(plain));
  try {
    for (let piece = 0; ; piece++) {
      if ((await fill(source, head)) < headBytes) throw damaged(id);
      const { length, kind } = readHead(head);
      const sealed = Buffer.allocUnsafe(Math.min(length, packedMost) + tagBytes);
      const target = targets[file];
      if (kind === undefined || target === undefined || length > packedMost) throw damaged(id);
      if ((await fill(source, sealed)) < sealed.length) throw damaged(id);
      const decipher = createDecipheriv(algorithm, key, nonceOf(piece), { authTagLength: tagBytes });
      decipher.setAAD(aboutOf(id, kind)).setAuthTag(sealed.subarray(length));
      const packed = decipher.update(sealed.subarray(0, length));
      try {
        decipher.final();
      } catch {
        throw damaged(id);
      }
      await line.add(decompress(packed, { maxOutputLength: pieceBytes, chunkSize: pieceBytes }), target);
      if (kind !== "more") file++;
      if (kind === "last") break;
    }
    if (file !== targets.length) throw damaged(id);
  } finally {
    await line.end();
  }
}

/** Pieces that are worked on at the same time, a few, and come out in their order. */
class Line<To> {
  readonly #take: (piece: Buffer, to: To) => Promise<void>;
  readonly #under: { piece: Promise<Buffer>; to: To }[] = [];

  constructor(take: (piece: Buffer, to: To) => Promise<void>) {
    this.#take = take;
  }

  async add(piece: Promise<Buffer>, to: To): Promise<void> {
    piece.catch(() => undefined); // whoever takes it is told
    this.#under.push({ piece, to });
    if (this.#under.length >= checkpointLimits.piecesAtOnce) await this.#next();
  }

  async end(): Promise<void> {
    while (this.#under.length > 0) await this.#next();
  }

  async #next(): Promise<void> {
    const first = this.#under.shift();
    if (first !== undefined) await this.#take(await first.piece, first.to);
  }
}

function headOf(length: number, kind: Kind): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32LE(length * 4 + kinds.indexOf(kind));
  return head;
}

function readHead(head: Buffer): { length: number; kind: Kind | undefined } {
  const word = head.readUInt32LE();
  return { length: Math.floor(word / 4), kind: kinds[word % 4] };
}

function damaged(id: string): AppError {
  return new AppError("unavailable", `cannot open checkpoint ${id}: its memory was changed, or its key does not match`);
}

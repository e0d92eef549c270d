/**
 * Saved memory at rest: pieces of it, each compressed and then under AES-256-GCM with a key of this checkpoint's alone, which
 * the daemon gives and its vault keeps (S75). A piece that is missing, changed or in another place opens nothing.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import { AppError } from "../../core/errors.ts";

const pieceBytes = 1024 * 1024;
/** What a piece that cannot be compressed grows by, and more. */
const packedMost = pieceBytes + 4096;
/** Its length and whether it is the last. */
const headBytes = 4;
const tagBytes = 16;
const algorithm = "aes-256-gcm";
const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** The most that so much memory takes once it is sealed. */
export const sealedBytes = (bytes: number) =>
  bytes + (Math.floor(bytes / pieceBytes) + 1) * (packedMost - pieceBytes + headBytes + tagBytes);

/** No key seals twice: the number of the piece is nonce enough. */
function nonceOf(piece: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32LE(piece, 8);
  return nonce;
}

const aboutOf = (id: string, isLast: boolean) => Buffer.from(`caisson checkpoint 1 ${id} ${isLast ? "last" : "more"}`);

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

/** The last piece is shorter than the others, if only by being empty. */
export async function sealMemory(id: string, key: Buffer, from: string, to: string): Promise<void> {
  await using source = await open(from, "r");
  await using target = await open(to, "wx", 0o600);
  const plain = Buffer.alloc(pieceBytes);
  for (let piece = 0; ; piece++) {
    const size = await fill(source, plain);
    const isLast = size < pieceBytes;
    const packed = await compress(plain.subarray(0, size), fast);
    const cipher = createCipheriv(algorithm, key, nonceOf(piece), { authTagLength: tagBytes });
    cipher.setAAD(aboutOf(id, isLast));
    const sealed = [cipher.update(packed), cipher.final(), cipher.getAuthTag()];
    await target.appendFile(Buffer.concat([headOf(packed.length, isLast), ...sealed])); // all of it, or an error
    if (!isLast) continue;
    await target.sync();
    return;
  }
}

export async function unsealMemory(id: string, key: Buffer, from: string, to: string): Promise<void> {
  await using source = await open(from, "r");
  await using target = await open(to, "r+");
  const head = Buffer.alloc(headBytes);
  const sealed = Buffer.alloc(packedMost + tagBytes);
  for (let piece = 0; ; piece++) {
    if ((await fill(source, head)) < headBytes) throw damaged(id);
    const { length, isLast } = readHead(head);
    if (length > packedMost || (await fill(source, sealed.subarray(0, length + tagBytes))) < length + tagBytes)
      throw damaged(id);
    const decipher = createDecipheriv(algorithm, key, nonceOf(piece), { authTagLength: tagBytes });
    decipher.setAAD(aboutOf(id, isLast)).setAuthTag(sealed.subarray(length, length + tagBytes));
    const packed = decipher.update(sealed.subarray(0, length));
    try {
      decipher.final();
    } catch {
      throw damaged(id);
    }
    await target.appendFile(await decompress(packed, { maxOutputLength: pieceBytes }));
    if (isLast) return;
  }
}

function headOf(length: number, isLast: boolean): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32LE(length * 2 + Number(isLast));
  return head;
}

function readHead(head: Buffer): { length: number; isLast: boolean } {
  const word = head.readUInt32LE();
  return { length: Math.floor(word / 2), isLast: word % 2 === 1 };
}

function damaged(id: string): AppError {
  return new AppError(
    "unavailable",
    `checkpoint ${id} cannot be opened: its memory was changed, or its key is another's`,
  );
}

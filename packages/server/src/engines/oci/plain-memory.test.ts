import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { storePlain } from "./plain-memory.ts";

const pieceBytes = 256 * 1024;
const plenty = 64 * 1024 ** 2;
const about = Buffer.from('{"timestamp":"now"}');

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function headOf(aboutBytes: number, size: number): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(aboutBytes));
  return Buffer.concat([Buffer.from("gVisorSF"), length, about, randomBytes(32), number(size)]);
}

function fileOf(pieces: readonly Buffer[], head = headOf(about.length, pieceBytes)): Buffer {
  return Buffer.concat([head, ...pieces.flatMap((piece) => [number(piece.length), piece])]);
}

function piecesOf(file: Buffer, from: number): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = from; at < file.length; at += 4 + file.readUInt32BE(at))
    pieces.push(file.subarray(at + 4, at + 4 + file.readUInt32BE(at)));
  return pieces;
}

describe("saved memory, stored plain", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "plain-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function store(file: Buffer, mostBytes = plenty): Promise<Buffer | undefined> {
    const [from, to] = [join(folder, "from"), join(folder, "to")];
    await Promise.all([writeFile(from, file), writeFile(to, "")]);
    return (await storePlain(from, to, mostBytes)) ? readFile(to) : undefined;
  }

  it("has the same head and the same bytes in pieces of the same number, none of them compressed", async () => {
    const memory = [1, 2, 3, 4, 5, 6].map(() =>
      Buffer.concat([randomBytes(pieceBytes / 2), Buffer.alloc(pieceBytes / 2)]),
    );
    memory.push(randomBytes(1000));
    const file = fileOf(memory.map((bytes) => deflateRawSync(bytes)));
    const plain = (await store(file)) ?? Buffer.alloc(0);
    const head = headOf(about.length, pieceBytes).length;
    expect(plain.subarray(0, head)).toEqual(file.subarray(0, head));
    const pieces = piecesOf(plain, head);
    expect(pieces.map((piece) => inflateRawSync(piece))).toEqual(memory);
    for (const [at, piece] of pieces.slice(0, -1).entries())
      expect(piece.includes(memory[at]?.subarray(0, 60_000) ?? "")).toBe(true);
  });

  it("leaves memory that was never written as small as it was", async () => {
    const packed = deflateRawSync(Buffer.alloc(pieceBytes));
    const file = fileOf([packed, packed]);
    expect(await store(file)).toEqual(file);
  });

  it("is not made of what has another format", async () => {
    expect(await store(Buffer.from("another format of another release"))).toBeUndefined();
    expect(await store(fileOf([], headOf(1024 ** 3, pieceBytes)))).toBeUndefined();
    expect(await store(fileOf([], headOf(about.length, 1024 ** 3)))).toBeUndefined();
    expect(await store(Buffer.alloc(0))).toBeUndefined();
  });

  it("is not made where it would be larger than it may be", async () => {
    const packed = [1, 2, 3].map(() => deflateRawSync(randomBytes(pieceBytes)));
    expect(await store(fileOf(packed), 2 * pieceBytes)).toBeUndefined();
    expect(await store(fileOf(packed), 4 * pieceBytes)).toBeDefined();
  });

  it("refuses a piece that is cut, is none, or holds more than a piece may", async () => {
    const good = deflateRawSync(randomBytes(pieceBytes));
    await expect(store(fileOf([good]).subarray(0, -1))).rejects.toThrow(/ends within a piece/);
    await expect(store(Buffer.concat([fileOf([good]), number(0xffff_ffff)]))).rejects.toThrow(/ends within a piece/);
    await expect(store(fileOf([good, Buffer.alloc(pieceBytes, 0xff)]))).rejects.toThrow();
    const bomb = deflateRawSync(Buffer.concat([randomBytes(pieceBytes / 8), Buffer.alloc(64 * pieceBytes)]));
    await expect(store(fileOf([bomb]))).rejects.toThrow(/larger than/);
  });
});

import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type Chunk, Chunker } from "./chunker.ts";
import { snapshotLimits } from "./snapshot-limits.ts";

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

function cut(bytes: Buffer, piece = 65_536): { chunks: Chunk[]; sha256: string } {
  const chunker = new Chunker(bytes.length);
  const chunks: Chunk[] = [];
  for (let at = 0; at < bytes.length; at += piece) chunks.push(...chunker.push(bytes.subarray(at, at + piece)));
  const last = chunker.finish();
  if (last !== undefined) chunks.push(last);
  return { chunks, sha256: chunker.sha256 };
}

describe("chunks of a file", () => {
  it("are its bytes in order, by their hash, within bounds, however it comes", () => {
    const bytes = randomBytes(6 * 1024 ** 2 + 17);
    const { chunks, sha256: whole } = cut(bytes);
    expect(Buffer.concat(chunks.map((chunk) => chunk.bytes)).equals(bytes)).toBe(true);
    expect(whole).toBe(sha256(bytes));
    for (const chunk of chunks) expect(chunk.digest).toBe(sha256(chunk.bytes));
    for (const { bytes: each } of chunks) expect(each.length).toBeLessThanOrEqual(snapshotLimits.chunkMostBytes);
    for (const { bytes: each } of chunks.slice(0, -1))
      expect(each.length).toBeGreaterThanOrEqual(snapshotLimits.chunkLeastBytes);
    for (const piece of [1000, 4097, bytes.length])
      expect(cut(bytes, piece).chunks.map(({ digest }) => digest)).toEqual(chunks.map(({ digest }) => digest));
  });

  it("stay the same around an insertion", () => {
    const bytes = randomBytes(16 * 1024 ** 2);
    const middle = bytes.length / 2;
    const changed = Buffer.concat([bytes.subarray(0, middle), Buffer.from("inserted"), bytes.subarray(middle)]);
    const before = new Set(cut(bytes).chunks.map(({ digest }) => digest));
    const fresh = cut(changed).chunks.filter(({ digest }) => !before.has(digest));
    expect(fresh.length).toBeGreaterThan(0);
    expect(fresh.reduce((total, { bytes: each }) => total + each.length, 0)).toBeLessThan(
      3 * snapshotLimits.chunkMostBytes,
    );
  });

  it("of a small file are one, and of an empty one none", () => {
    const small = randomBytes(snapshotLimits.wholeBytes);
    expect(cut(small).chunks.map(({ digest }) => digest)).toEqual([sha256(small)]);
    expect(cut(small).sha256).toBe(sha256(small));
    expect(cut(Buffer.alloc(0))).toEqual({ chunks: [], sha256: sha256(Buffer.alloc(0)) });
  });

  it("of zeros without end are all the same, as large as one may be", () => {
    const { chunks } = cut(Buffer.alloc(8 * snapshotLimits.chunkMostBytes));
    expect(new Set(chunks.map(({ digest }) => digest)).size).toBe(1);
    expect(chunks).toHaveLength(8);
  });
});

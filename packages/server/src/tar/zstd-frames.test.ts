import { randomBytes } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { constants, createZstdCompress, zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { inflate } from "./inflate.ts";
import { archiveLimits } from "./limits.ts";
import { zstdFrames } from "./zstd-frames.ts";

async function* inPieces(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const unpack = (bytes: Buffer, size = 65_536) =>
  buffer(inflate(inPieces(bytes, size), { ratio: 200, bytes: 1024 ** 3, zstd: true }));

function passedOver(content: Buffer, kind = 0): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(0x184d2a50 + kind);
  head.writeUInt32LE(content.length, 4);
  return Buffer.concat([head, content]);
}

const checksum = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
const texts = [Buffer.from("one ".repeat(300)), randomBytes(300), Buffer.alloc(5_000), Buffer.alloc(0)];
const larger = [randomBytes(200_000), Buffer.from("two ".repeat(100_000))];
/** Without the size of what is in it. */
const streamed = (bytes: Buffer) => buffer(createZstdCompress().end(bytes));

describe("zstd of several frames", () => {
  const framesOf = async (texts: readonly Buffer[]) =>
    Buffer.concat([
      passedOver(Buffer.from("before")),
      ...texts.map((text) => zstdCompressSync(text)),
      passedOver(Buffer.alloc(0), 15),
      ...texts.map((text) => zstdCompressSync(text, checksum)),
      passedOver(randomBytes(700), 1),
      ...(await Promise.all(texts.map(streamed))),
      passedOver(Buffer.from("a table of contents")),
    ]);

  it.each([
    ["bytes", texts, 1],
    ["a few bytes", texts, 7],
    ["some bytes", larger, 1_000],
    ["many bytes", larger, 65_536],
    ["all at once", [...texts, ...larger], 10_000_000],
  ])("is all of them, whatever kinds of blocks they have, in pieces of %s", async (_, texts, size) => {
    const unpacked = await unpack(await framesOf(texts), size);
    expect(unpacked.equals(Buffer.concat([...texts, ...texts, ...texts]))).toBe(true);
  });

  it("is cut where frames end, and nowhere does a piece hold parts of two", async () => {
    const frames = [zstdCompressSync(texts[0] ?? ""), passedOver(Buffer.from("x")), zstdCompressSync(texts[1] ?? "")];
    const pieces: Uint8Array[] = [];
    for await (const piece of zstdFrames(inPieces(Buffer.concat(frames), 10_000_000))) pieces.push(piece);
    expect(pieces.map(({ length }) => length)).toEqual(frames.map(({ length }) => length));
  });

  const frame = zstdCompressSync(Buffer.from("text"), checksum);
  it.each([
    ["something else follows", Buffer.concat([frame, Buffer.from("more")]), "data follows"],
    ["a few bytes follow", Buffer.concat([frame, frame.subarray(0, 3)]), "cut short"],
    ["the last is cut short", Buffer.concat([frame, frame.subarray(0, -1)]), "cut short"],
    [
      "what is passed over is cut short",
      Buffer.concat([frame, passedOver(Buffer.from("xyz")).subarray(0, -1)]),
      "cut short",
    ],
    [
      "a checksum is wrong",
      Buffer.concat([frame.subarray(0, -1), Buffer.from([frame.at(-1) === 0 ? 1 : 0])]),
      "damaged",
    ],
  ])("is refused where %s", async (_, bytes, why) => {
    for (const size of [1, 65_536]) await expect(unpack(bytes, size)).rejects.toThrow(why);
  });

  it("is refused where it has frames without an end", async () => {
    const empty = passedOver(Buffer.alloc(0));
    async function* endless() {
      const piece = Buffer.concat(Array.from({ length: 10_000 }, () => empty));
      for (;;) yield piece;
    }
    const drain = async () => {
      for await (const _ of zstdFrames(endless()));
    };
    await expect(drain()).rejects.toThrow(`more than ${archiveLimits.zstdFrames} frames`);
  });
});

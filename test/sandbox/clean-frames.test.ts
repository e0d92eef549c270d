import { pipeline } from "node:stream/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CleanFrames } from "../../packages/server/src/dlp/clean-frames.ts";
import { ValueRedactor } from "../../packages/server/src/dlp/redactor.ts";

const secret = "sk-live-4f9a0c27d1e8";

interface Frame {
  first: number;
  payload: Buffer;
}

function encode({ first, payload }: Frame): Buffer {
  const size = payload.length;
  const head = Buffer.alloc(size < 126 ? 2 : size < 65_536 ? 4 : 10);
  head[0] = first;
  if (head.length === 2) head[1] = size;
  else if (head.length === 4) head.writeUInt16BE(size, 2);
  else head.writeBigUInt64BE(BigInt(size), 2);
  if (head.length > 2) head[1] = head.length === 4 ? 126 : 127;
  return Buffer.concat([head, payload]);
}

function decode(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [first = 0, size = 0] = bytes.subarray(at);
    const head = size < 126 ? 2 : size === 126 ? 4 : 10;
    const length = head === 2 ? size : head === 4 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
    frames.push({ first, payload: bytes.subarray(at + head, at + head + length) });
    at += head + length;
  }
  return frames;
}

async function through(input: Buffer, cuts: readonly number[], ...values: string[]): Promise<Buffer> {
  const redactor = new ValueRedactor();
  redactor.hide(values.map((value) => Buffer.from(value)));
  const pieces: Buffer[] = [];
  let at = 0;
  for (const size of [...cuts, input.length]) {
    pieces.push(input.subarray(at, at + size));
    at += size;
  }
  const out: Buffer[] = [];
  await pipeline(pieces, new CleanFrames(redactor), async (source) => {
    for await (const piece of source) out.push(piece);
  });
  return Buffer.concat(out);
}

const data = fc.uint8Array({ maxLength: 300 }).map((bytes) => ({ first: 0x82, payload: Buffer.from(bytes) }));
const control = fc.uint8Array({ maxLength: 125 }).map((bytes) => ({ first: 0x89, payload: Buffer.from(bytes) }));
const large = fc
  .integer({ min: 65_000, max: 70_000 })
  .map((size) => ({ first: 0x02, payload: Buffer.alloc(size, "x") }));
const frames = fc.array(fc.oneof({ weight: 8, arbitrary: data }, { weight: 4, arbitrary: control }, large), {
  maxLength: 8,
});
const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 20 });

describe("frames of a WebSocket on their way out of a sandbox", () => {
  it("[S43] are the same without a value, however they are cut", async () => {
    await fc.assert(
      fc.asyncProperty(frames, cuts, async (list, sizes) => {
        const input = Buffer.concat(list.map(encode));
        expect((await through(input, sizes, secret)).equals(input)).toBe(true);
        expect((await through(input, sizes)).equals(input)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it("[S43] have stars for a value that is spread over frames and messages, between control frames too", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(12), fc.boolean()), { maxLength: 12 }), cuts, async (parts, sizes) => {
        const text = Buffer.from(`before ${secret} after`);
        const list: Frame[] = [];
        let at = 0;
        for (const [size, pings] of [...parts, [text.length, false] as const]) {
          list.push({ first: 0x81, payload: text.subarray(at, at + size) });
          if (pings) list.push({ first: 0x89, payload: Buffer.from(`${secret}!`) });
          at += size;
        }
        const out = decode(await through(Buffer.concat(list.map(encode)), sizes, secret));
        expect(out.map(({ first, payload }) => [first, payload.length])).toEqual(
          list.map(({ first, payload }) => [first, payload.length]),
        );
        const messages = out.filter(({ first }) => first === 0x81).map(({ payload }) => payload);
        const stars = "*".repeat(secret.length);
        expect(Buffer.concat(messages).toString()).toBe(`before ${stars} after`);
        for (const { first, payload } of out) if (first === 0x89) expect(payload.toString()).toBe(`${stars}!`);
      }),
      { numRuns: 200 },
    );
  });

  it("[S43] end with a control frame that is too long, or cut, before anything of it is held", async () => {
    const endless = Buffer.from([0x89, 127, 0, 0, 1, 0, 0, 0, 0, 0]);
    for (const frame of [endless, encode({ first: 0x88, payload: Buffer.alloc(126) }), Buffer.from([0x0a, 1, 65])]) {
      await expect(through(frame, [], secret)).rejects.toThrow("control frame");
      await expect(through(frame, [1, 1], secret)).rejects.toThrow("control frame");
    }
    for (const first of [0x88, 0x89, 0x8a]) {
      const longest = encode({ first, payload: Buffer.alloc(125, 65) });
      expect(await through(longest, [50], secret)).toEqual(longest);
    }
  });

  it("[S43] take no more time for each of many empty ones that wait behind a message than for ones that hold a byte", async () => {
    const spent = async (rest: Frame) => {
      const input = Buffer.concat([
        encode({ first: 0x81, payload: Buffer.from("s") }),
        ...Array(150_000).fill(encode(rest)),
      ]);
      const before = process.cpuUsage();
      expect((await through(input, [], secret)).length).toBe(input.length);
      return process.cpuUsage(before).user;
    };
    const [one, none] = [
      await spent({ first: 0x81, payload: Buffer.from("x") }),
      await spent({ first: 0x81, payload: Buffer.alloc(0) }),
    ];
    expect(none).toBeLessThan(4 * one);
  });

  it("[S43] end where the program masks them: what it hides could not be looked through", async () => {
    await expect(through(Buffer.from([0x81, 0x81, 1, 2, 3, 4, 5]), [], secret)).rejects.toThrow(
      "masks its WebSocket frames",
    );
  });
});

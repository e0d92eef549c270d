import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FrameHeader, FrameParser, frameTypes, WireViolation, writeHeader } from "./frame.ts";
import { wireLimits } from "./limits.ts";

const epoch = 7;

function frame(header: Partial<FrameHeader>, payload = Buffer.alloc(0)): Buffer {
  const bytes = Buffer.alloc(wireLimits.headerBytes);
  writeHeader(bytes, {
    type: frameTypes.pong,
    channel: 0,
    epoch,
    stream: 0,
    offset: 0,
    size: payload.length,
    ...header,
  });
  return Buffer.concat([bytes, payload]);
}

interface Seen {
  data: { stream: number; channel: number; offset: number; bytes: Buffer }[];
  control: { header: FrameHeader; payload: Buffer }[];
}

function collect(): { seen: Seen; parser: FrameParser } {
  const seen: Seen = { data: [], control: [] };
  const parser = new FrameParser(epoch, {
    data: (stream, channel, offset, bytes) => seen.data.push({ stream, channel, offset, bytes: Buffer.from(bytes) }),
    control: (header, payload) => seen.control.push({ header, payload: Buffer.from(payload) }),
  });
  return { seen, parser };
}

describe("frames from a guest", () => {
  it("come out the same however the bytes are cut", () => {
    const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(pieces, fc.infiniteStream(fc.integer({ min: 1, max: 97 })), (payloads, cuts) => {
        let offset = 0;
        const frames = payloads.map((payload) => {
          const bytes = frame({ type: frameTypes.data, channel: 1, stream: 3, offset }, Buffer.from(payload));
          offset += payload.length;
          return Buffer.concat([bytes, frame({ type: frameTypes.exit, stream: 3 }, Buffer.from("record"))]);
        });
        const bytes = Buffer.concat(frames);
        const { seen, parser } = collect();
        for (let at = 0; at < bytes.length; ) {
          const size = cuts.next().value ?? 1;
          parser.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect(Buffer.concat(seen.data.map((piece) => piece.bytes))).toEqual(Buffer.concat(payloads));
        let expected = 0;
        for (const piece of seen.data) {
          expect(piece.offset).toBe(expected);
          expected += piece.bytes.length;
        }
        expect(seen.control.map((row) => row.payload.toString())).toEqual(payloads.map(() => "record"));
      }),
    );
  });

  it("are handed on without a copy", () => {
    const bytes = frame({ type: frameTypes.data, channel: 1, stream: 1 }, Buffer.alloc(1000, 7));
    let piece: Buffer | undefined;
    new FrameParser(epoch, { data: (...args) => (piece = args[3]), control: () => undefined }).push(bytes);
    expect(piece?.buffer).toBe(bytes.buffer);
  });

  it.each([
    ["an unknown type", frame({ type: 99 })],
    ["a type only the host sends", frame({ type: frameTypes.open })],
    ["another epoch", frame({ epoch: epoch + 1 })],
    ["a huge length", frame({ type: frameTypes.data, size: 0xffffffff })],
    ["data past its maximum", frame({ type: frameTypes.data, size: wireLimits.fromGuestPayloadBytes + 1 })],
    ["a long control frame", frame({ type: frameTypes.error, size: 257 })],
    ["empty data", frame({ type: frameTypes.data, stream: 1 })],
    ["reserved bits", Buffer.from(frame({})).fill(1, 12, 16)],
  ])("are refused when they carry %s", (_what, bytes) => {
    const { parser } = collect();
    expect(() => parser.push(bytes)).toThrow(WireViolation);
  });

  it("never throw anything but a violation, whatever the bytes", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 30 }), (chunks) => {
        const { parser } = collect();
        try {
          for (const chunk of chunks) parser.push(Buffer.from(chunk));
        } catch (error) {
          expect(error).toBeInstanceOf(WireViolation);
        }
      }),
    );
  });
});

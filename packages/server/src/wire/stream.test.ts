import { describe, expect, it } from "vitest";
import { frameTypes, WireViolation } from "./frame.ts";
import { wireLimits } from "./limits.ts";
import { ReceiveBuffers } from "./receive-buffers.ts";
import { HostStream } from "./stream.ts";

interface Sent {
  type: number;
  channel: number;
  offset: number;
  size: number;
}

function open(held = false): { stream: HostStream; sent: Sent[]; received: Buffer[] } {
  const sent: Sent[] = [];
  const received: Buffer[] = [];
  const stream = new HostStream(
    5,
    (_channel, chunk) => received.push(chunk),
    {
      send: (type, channel, _stream, offset, payload) => {
        sent.push({ type, channel, offset, size: payload?.length ?? 0 });
      },
      sendFull: (_stream, offset, chunk) => {
        for (let at = 0; at < chunk.length; at += payloadBytes)
          sent.push({ type: frameTypes.data, channel: 0, offset: offset + at, size: payloadBytes });
      },
      congestion: () => undefined,
    },
    held,
  );
  return { stream, sent, received };
}

const payloadBytes = wireLimits.toGuestFrameBytes - wireLimits.headerBytes;

describe("the host's end of a stream", () => {
  it("refuses data past the window, however small the pieces", () => {
    const { stream } = open();
    const piece = Buffer.alloc(wireLimits.outputWindowBytes / 4);
    for (let i = 0; i < 4; i++) stream.onData(1, i * piece.length, piece);
    expect(() => stream.onData(1, 4 * piece.length, Buffer.alloc(1))).toThrow(WireViolation);
  });

  it("lets the guest go on once data was consumed", () => {
    const { stream, sent } = open();
    const piece = Buffer.alloc(wireLimits.outputWindowBytes);
    stream.onData(1, 0, piece);
    stream.consumed("stdout", piece.length);
    expect(sent).toEqual([{ type: frameTypes.credit, channel: 1, offset: piece.length, size: 0 }]);
    stream.onData(1, piece.length, piece);
  });

  it.each([
    [false, "at once"],
    [true, "only when it is released"],
  ])("(held: %s) lets the guest forget an exit %s", async (held) => {
    const { stream, sent } = open(held);
    const closes = () => sent.filter(({ type }) => type === frameTypes.close).length;
    stream.onEnd(1, 0);
    stream.onEnd(2, 0);
    stream.onExit(Buffer.alloc(32));
    await stream.exit;
    expect(closes()).toBe(held ? 0 : 1);
    if (held) stream.release();
    expect(closes()).toBe(1);
  });

  it("gives a receive buffer back once all pieces in it were consumed, and not before", () => {
    const { stream } = open();
    const buffers = new ReceiveBuffers();
    const first = buffers.current;
    stream.onData(1, 0, first.bytes.subarray(0, 20_000), first);
    stream.onData(2, 0, first.bytes.subarray(20_000, 40_000), first);
    buffers.turn();
    const second = buffers.current;
    expect(second).not.toBe(first);
    stream.onData(1, 20_000, second.bytes.subarray(0, 20_000), second);
    stream.consumed("stdout", 20_000);
    buffers.turn();
    const third = buffers.current;
    expect(third).not.toBe(first);
    stream.onData(1, 40_000, third.bytes.subarray(0, 20_000), third);
    stream.consumed("stderr", 20_000);
    buffers.turn();
    expect(buffers.current).toBe(first);
  });

  it("reads into the same buffer again when nothing of it is held, and keeps it once only", () => {
    const { stream } = open();
    const buffers = new ReceiveBuffers();
    const first = buffers.current;
    stream.onData(1, 0, first.bytes.subarray(0, 20_000), first);
    stream.consumed("stdout", 20_000);
    buffers.turn();
    expect(buffers.current).toBe(first);
    stream.onData(1, 20_000, first.bytes.subarray(0, 20_000), first);
    buffers.turn();
    expect(buffers.current).not.toBe(first);
  });

  it("never writes again what a listener of a killed run may still look at", () => {
    const { stream } = open();
    const buffers = new ReceiveBuffers();
    const first = buffers.current;
    stream.onData(1, 0, first.bytes.subarray(0, 20_000), first);
    stream.killTree();
    stream.consumed("stdout", 20_000);
    buffers.turn();
    expect(buffers.current).not.toBe(first);
  });

  it.each<[string, ...((stream: HostStream) => void)[]]>([
    ["data out of order", (s) => s.onData(1, 10, Buffer.alloc(1))],
    ["data replayed", (s) => s.onData(1, 0, Buffer.alloc(4)), (s) => s.onData(1, 0, Buffer.alloc(4))],
    ["data on an unknown channel", (s) => s.onData(0, 0, Buffer.alloc(1))],
    ["data after its end", (s) => s.onEnd(1, 0), (s) => s.onData(1, 0, Buffer.alloc(1))],
    ["an end at the wrong place", (s) => s.onEnd(1, 3)],
    ["credit for what was never sent", (s) => s.onCredit(1)],
    ["an exit before the end of output", (s) => s.onExit(Buffer.alloc(32))],
    ["a short exit record", (s) => s.onEnd(1, 0), (s) => s.onEnd(2, 0), (s) => s.onExit(Buffer.alloc(31))],
  ])("refuses %s", (_what, ...acts) => {
    const { stream } = open();
    const last = acts.pop();
    for (const act of acts) act(stream);
    expect(() => last?.(stream)).toThrow(WireViolation);
  });

  it("sends input only as far as the guest has room, in frames that fit a pipe's atomic write", async () => {
    const { stream, sent } = open();
    const body = Buffer.alloc(wireLimits.inputWindowBytes + 100);
    const written = stream.write(body);
    const under = () => sent.reduce((sum, frame) => sum + frame.size, 0);
    const first = under();
    expect(first).toBeLessThanOrEqual(wireLimits.inputWindowBytes);
    expect(first).toBeGreaterThan(wireLimits.inputWindowBytes - payloadBytes);
    expect(Math.max(...sent.map((frame) => frame.size))).toBe(payloadBytes);
    stream.onCredit(first);
    expect(await written).toBe(true);
    expect(under()).toBe(body.length);
  });

  it("stops a writer whose process has closed its input", async () => {
    const { stream } = open();
    const written = stream.write(Buffer.alloc(wireLimits.inputWindowBytes + 1));
    stream.onEnd(0, 0);
    expect(await written).toBe(false);
  });
});

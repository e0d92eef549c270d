import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FifoWriter } from "./fifo-writer.ts";
import { frameTypes, writeHeader } from "./frame.ts";
import { FrameSender } from "./frame-sender.ts";
import { wireLimits } from "./limits.ts";

const { pieceFrames, headerBytes, toGuestFrameBytes } = wireLimits;
const payloadBytes = toGuestFrameBytes - headerBytes;
const epoch = 0xfedc;
const stream = 0xffff_fffe;

let folder: string;
let fd: number;
let sender: FrameSender;
const sent = () => readFileSync(join(folder, "frames"));
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "caisson-frames-"));
  fd = openSync(join(folder, "frames"), "w");
  const failed = (reason: string) => expect.fail(reason);
  sender = new FrameSender(new FifoWriter(fd, failed), epoch);
});
afterEach(() => {
  closeSync(fd);
  rmSync(folder, { recursive: true });
});

const chunkOf = (frames: number) => Buffer.from(Array.from({ length: frames * payloadBytes }, (_, at) => at % 251));

it.each([0, 2 ** 32 - payloadBytes, 2 ** 40 + 7])(
  "makes full frames from offset %d on as single ones are made, however many",
  (offset) => {
    const chunk = chunkOf(pieceFrames);
    sender.sendFull(stream, offset, chunk);
    const expected = Buffer.alloc(pieceFrames * toGuestFrameBytes);
    for (let frame = 0; frame < pieceFrames; frame++) {
      const header = { size: payloadBytes, type: frameTypes.data, channel: 0, epoch, stream };
      writeHeader(expected, { ...header, offset: offset + frame * payloadBytes }, frame * toGuestFrameBytes);
      chunk.copy(expected, frame * toGuestFrameBytes + headerBytes, frame * payloadBytes, (frame + 1) * payloadBytes);
    }
    expect(sent().equals(expected)).toBe(true);
  },
);

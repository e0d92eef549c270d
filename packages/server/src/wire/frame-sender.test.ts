import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { wireLimits } from "../core/limits.ts";
import { FifoWriter } from "./fifo-writer.ts";
import { frameTypes, writeHeader } from "./frame.ts";
import { FrameSender } from "./frame-sender.ts";

const { headerBytes, toGuestFrameBytes } = wireLimits;
const payloadBytes = toGuestFrameBytes - headerBytes;

it.each([0, 2 ** 32 - payloadBytes, 2 ** 40 + 7])(
  "makes full frames from offset %d on as single ones are made",
  (offset) => {
    const folder = mkdtempSync(join(tmpdir(), "caisson-frames-"));
    const path = join(folder, "frames");
    const fd = openSync(path, "w");
    try {
      const epoch = 0xfedc;
      const stream = 0xffff_fffe;
      const chunk = Buffer.from(Array.from({ length: 3 * payloadBytes }, (_, at) => at % 251));
      const writer = new FifoWriter(fd, (reason) => expect.fail(reason));
      new FrameSender(writer, epoch).sendFull(stream, offset, chunk);
      const expected = Buffer.alloc(3 * toGuestFrameBytes);
      for (let frame = 0; frame < 3; frame++) {
        const header = { size: payloadBytes, type: frameTypes.data, channel: 0, epoch, stream };
        writeHeader(expected, { ...header, offset: offset + frame * payloadBytes }, frame * toGuestFrameBytes);
        chunk.copy(expected, frame * toGuestFrameBytes + headerBytes, frame * payloadBytes, (frame + 1) * payloadBytes);
      }
      expect(readFileSync(path).equals(expected)).toBe(true);
    } finally {
      closeSync(fd);
      rmSync(folder, { recursive: true });
    }
  },
);

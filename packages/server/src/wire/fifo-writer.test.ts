import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { errnoOf } from "../core/errors.ts";
import { FifoWriter } from "./fifo-writer.ts";
import { wireLimits } from "./limits.ts";

let folder: string;
let fd: number;
let failures: string[];
let writer: FifoWriter;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "caisson-fifo-"));
  execFileSync("mkfifo", [join(folder, "fifo")]);
  fd = openSync(join(folder, "fifo"), constants.O_RDWR | constants.O_NONBLOCK);
  failures = [];
  writer = new FifoWriter(fd, (reason) => failures.push(reason));
});
afterEach(() => {
  writer.close();
  closeSync(fd);
  rmSync(folder, { recursive: true });
});

function readAll(): Buffer {
  const chunks: Buffer[] = [];
  try {
    for (;;) {
      const chunk = Buffer.alloc(65_536);
      chunks.push(chunk.subarray(0, readSync(fd, chunk)));
    }
  } catch (error) {
    if (errnoOf(error) !== "EAGAIN") throw error;
  }
  return Buffer.concat(chunks);
}

const frame = (i: number) => Buffer.alloc(wireLimits.toGuestFrameBytes, i);

describe("frames to a guest", () => {
  it("that do not fit arrive later, whole and in order (hazard 13)", async () => {
    const count = 100; // more than the pipe holds
    for (let i = 0; i < count; i++) writer.send(frame(i));
    let received = readAll();
    expect(received.length % wireLimits.toGuestFrameBytes).toBe(0);
    expect(received.length).toBeLessThan(count * wireLimits.toGuestFrameBytes);
    while (received.length < count * wireLimits.toGuestFrameBytes) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      received = Buffer.concat([received, readAll()]);
    }
    expect(received).toEqual(Buffer.concat(Array.from({ length: count }, (_, i) => frame(i))));
    expect(failures).toEqual([]);
  });

  it("that are many and full leave no part of one behind, wherever the FIFO ends (hazard 13)", async () => {
    const numbered = (i: number) => Buffer.alloc(wireLimits.toGuestFrameBytes, i);
    const full = (from: number) =>
      Buffer.concat(Array.from({ length: wireLimits.bulkFrames }, (_, i) => numbered(from + i)));
    const small = Buffer.alloc(24, 255);
    const sent = [small, full(0), small, full(32), small, small, full(64), full(96), small];
    for (const one of sent) one.length === small.length ? writer.send(one) : writer.sendFull(one);
    expect(writer.congestion()).toBeInstanceOf(Promise);
    let received = readAll();
    let waiting = Buffer.concat(sent).length;
    while (received.length > 0 || waiting > 0) {
      // What an owner that was killed now would leave: whole frames.
      const smalls = received.filter((byte) => byte === 255).length;
      expect([smalls % small.length, (received.length - smalls) % wireLimits.toGuestFrameBytes]).toEqual([0, 0]);
      expect(received).toEqual(Buffer.concat(sent).subarray(-waiting).subarray(0, received.length));
      waiting -= received.length;
      await new Promise((resolve) => setTimeout(resolve, 1));
      received = readAll();
    }
    expect(writer.congestion()).toBeUndefined();
    expect(failures).toEqual([]);
  });

  it("that nobody reads are bounded in number, and the guest is given up", () => {
    for (let i = 0; i < wireLimits.queuedFrames + 100; i++) writer.send(frame(0));
    expect(failures[0]).toMatch(/does not read/);
  });
});

describe("frames that may wait", () => {
  const small = (i: number) => Buffer.alloc(24, i);

  it("go with the next one, in its write and before it", () => {
    writer.sendLater(small(1));
    writer.sendLater(small(2));
    expect(readAll().length).toBe(0);
    writer.send(small(3));
    expect(readAll()).toEqual(Buffer.concat([small(1), small(2), small(3)]));
  });

  it("go by themselves when nothing follows", async () => {
    writer.sendLater(small(1));
    await new Promise((resolve) => setImmediate(resolve));
    expect(readAll()).toEqual(small(1));
  });

  it("go before what does not fit into their write, and before the end", () => {
    writer.sendLater(small(1));
    writer.send(frame(2));
    const many = Array.from({ length: wireLimits.toGuestFrameBytes / 24 + 1 }, (_, i) => small(i));
    for (const one of many) writer.sendLater(one);
    writer.close();
    expect(readAll()).toEqual(Buffer.concat([small(1), frame(2), ...many]));
  });
});

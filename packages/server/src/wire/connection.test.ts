import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { errnoOf } from "../core/errors.ts";
import type { Adopt } from "../core/wire.ts";
import { WireConnection } from "./connection.ts";
import { frameTypes, writeHeader } from "./frame.ts";
import { wireLimits } from "./limits.ts";

const never = new Promise<string>(() => {});

interface Frame {
  type: number;
  epoch: number;
  stream: number;
  payload: Buffer;
}

/** The guest's ends of a wire, spoken by hand. */
async function makeWire() {
  const folder = await mkdtemp(join(tmpdir(), "caisson-wire-"));
  const paths = {
    toGuestPath: join(folder, "to"),
    fromGuestPath: join(folder, "from"),
  };
  execFileSync("mkfifo", [paths.toGuestPath, paths.fromGuestPath]);
  const flags = constants.O_RDWR | constants.O_NONBLOCK;
  const input = openSync(paths.toGuestPath, flags);
  const output = openSync(paths.fromGuestPath, flags);
  let epoch = 0;
  let rest = Buffer.alloc(0);
  const receive = async (): Promise<Frame> => {
    for (;;) {
      const size = rest.length < wireLimits.headerBytes ? Infinity : wireLimits.headerBytes + rest.readUInt32LE(0);
      if (rest.length >= size) {
        const frame = {
          type: rest.readUInt8(4),
          epoch: rest.readUInt16LE(6),
          stream: rest.readUInt32LE(8),
          payload: rest.subarray(wireLimits.headerBytes, size),
        };
        rest = rest.subarray(size);
        return frame;
      }
      const chunk = Buffer.alloc(65_536);
      try {
        rest = Buffer.concat([rest, chunk.subarray(0, readSync(input, chunk))]);
      } catch (error) {
        if (errnoOf(error) !== "EAGAIN") throw error;
        await sleep(1);
      }
    }
  };
  const send = (type: number, stream: number, offset: number, payload: Buffer) => {
    const frame = Buffer.alloc(wireLimits.headerBytes + payload.length);
    writeHeader(frame, { size: payload.length, type, channel: 0, epoch, stream, offset });
    payload.copy(frame, wireLimits.headerBytes);
    writeSync(output, frame);
  };
  return {
    receive,
    send,
    state: (stream: number) => send(frameTypes.state, stream, 0, Buffer.alloc(48)),
    /** Answers a new owner as a guest that has had `highest` streams and still has `live`. */
    greet: async (highest: number, live: number, adopt?: Adopt) => {
      const wire = WireConnection.attach(paths, never, adopt);
      const resync = await receive();
      epoch = resync.epoch;
      const hello = Buffer.alloc(40);
      resync.payload.copy(hello);
      [wireLimits.version, 512, 65_536, 262_144, highest, live].forEach((number, i) => {
        hello.writeUInt32LE(number, 16 + 4 * i);
      });
      send(frameTypes.hello, 0, 0, hello);
      return { wire };
    },
    [Symbol.asyncDispose]: async () => {
      closeSync(input);
      closeSync(output);
      await rm(folder, { recursive: true });
    },
  };
}

describe("a new owner's wire", () => {
  it("uses no stream id again, whichever are still open", async () => {
    await using guest = await makeWire();
    const wire = await (await guest.greet(41, 0)).wire;
    wire.open("stat", { path: "x" }, () => {});
    expect(await guest.receive()).toMatchObject({ type: frameTypes.open, stream: 42 });
    wire.close("done");
  });

  it("is there once every stream has told its state, in whatever order, and ends those that nobody adopts", async () => {
    await using guest = await makeWire();
    const adopted: number[] = [];
    const both = Promise.withResolvers<void>();
    const { wire } = await guest.greet(9, 3, ({ id }) => {
      adopted.push(id);
      if (adopted.length === 2) both.resolve();
      return id === 4 ? undefined : () => {};
    });
    let attached = false;
    void wire.then(() => {
      attached = true;
    });
    guest.state(9);
    guest.state(4);
    await both.promise;
    await sleep(0);
    expect(attached).toBe(false);
    guest.state(7);
    const connection = await wire;
    expect(adopted).toEqual([9, 4, 7]);
    expect(await guest.receive()).toMatchObject({ type: frameTypes.close, stream: 4 });
    connection.close("done");
  });

  it.each([
    ["one more state than its hello named", 9, 0, 5],
    ["the state of a stream that never was", 9, 1, 10],
    ["more streams than a guest can have", 9, 100_000, 1],
  ])("is closed by a guest that tells %s", async (_, highest, live, stream) => {
    await using guest = await makeWire();
    const { wire } = await guest.greet(highest, live);
    const reason = wire.then(
      ({ lost }) => lost,
      (error: Error) => error.message,
    );
    guest.state(stream);
    expect(await reason).toMatch(/the guest sent (the state of stream|a hello with)/);
  });

  it("closes a stream that the guest refused: what it holds of it is given up", async () => {
    await using guest = await makeWire();
    const wire = await (await guest.greet(0, 0)).wire;
    const stream = wire.open("process", { arguments: ["true"] }, () => {});
    expect(await guest.receive()).toMatchObject({ type: frameTypes.open, stream: 1 });
    guest.send(frameTypes.error, 1, 71, Buffer.from("input out of order"));
    await expect(stream.exit).rejects.toMatchObject({ code: "unavailable", message: /out of order/ });
    expect(await guest.receive()).toMatchObject({ type: frameTypes.close, stream: 1 });
    wire.close("done");
  });
});

describe("pings", () => {
  const most = Math.floor(wireLimits.pongTimeoutMs / wireLimits.pingIntervalMs) + 1;
  const tick = () => vi.advanceTimersByTime(wireLimits.pingIntervalMs);
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "Date"] }));
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  it("without an answer, as many as the guest has time for, lose the wire", async () => {
    await using guest = await makeWire();
    const wire = await (await guest.greet(0, 0)).wire;
    for (let pings = 0; pings < most; pings++) {
      tick();
      expect(await guest.receive()).toMatchObject({ type: frameTypes.ping });
    }
    tick();
    expect(await wire.lost).toBe("the guest no longer answers");
  });

  it("that are answered now and then do not", async () => {
    await using guest = await makeWire();
    const wire = await (await guest.greet(0, 0)).wire;
    for (let round = 1; round <= 3; round++) {
      for (let pings = 0; pings < most; pings++) {
        tick();
        expect(await guest.receive()).toMatchObject({ type: frameTypes.ping });
      }
      guest.send(frameTypes.pong, 0, 0, Buffer.alloc(0));
      // What follows the pong has come: so has the pong.
      const { exit } = wire.open("stat", { path: "x" }, () => {});
      guest.send(frameTypes.error, round, 71, Buffer.from("no"));
      await expect(exit).rejects.toMatchObject({ code: "unavailable", message: /the guest refused/ });
      expect(await guest.receive()).toMatchObject({ type: frameTypes.open, stream: round });
      expect(await guest.receive()).toMatchObject({ type: frameTypes.close, stream: round });
    }
    wire.close("done");
  });

  it("that an owner could not send, because it was stopped for a minute, are not missed", async () => {
    await using guest = await makeWire();
    const wire = await (await guest.greet(0, 0)).wire;
    tick();
    expect(await guest.receive()).toMatchObject({ type: frameTypes.ping });
    const [now, date] = [performance.now() + 60_000, Date.now() + 60_000];
    vi.spyOn(performance, "now").mockReturnValue(now);
    vi.setSystemTime(date);
    tick();
    expect(await guest.receive()).toMatchObject({ type: frameTypes.ping });
    wire.open("stat", { path: "x" }, () => {});
    expect(await guest.receive()).toMatchObject({ type: frameTypes.open });
    wire.close("done");
  });
});

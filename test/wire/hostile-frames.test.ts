import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { WireStream } from "../../packages/server/src/core/wire.ts";
import { WireConnection } from "../../packages/server/src/wire/connection.ts";
import { frameTypes } from "../../packages/server/src/wire/frame.ts";
import { wireLimits } from "../../packages/server/src/wire/limits.ts";
import { seed, soak } from "../harness.ts";
import { type PuppetFrame, PuppetGuest, statePayload } from "./puppet-guest.ts";

const never = new Promise<string>(() => {});
const { data, credit, end, exit, started, state, error, pong, hello } = frameTypes;
const KiB = 1024;
const MiB = 1024 * KiB;

let guest: PuppetGuest;
beforeEach(() => {
  guest = new PuppetGuest();
});
afterEach(() => {
  guest[Symbol.dispose]();
});

interface Owner {
  wire: WireConnection;
  own: WireStream;
  /** How each stream ended that this owner ever had; none may stay without an end. */
  ends: Promise<unknown>[];
  /** Bytes that listeners were given; nobody consumes them. */
  received: () => number;
  lost: () => boolean;
}

const stateOf = (stream: number, payload = statePayload()) => guest.encode({ type: state, stream, payload });

/** An owner that adopts what former ones left, streams 1 to `live`, and has opened the next. */
async function attach(live = 0): Promise<Owner> {
  const ends: Promise<unknown>[] = [];
  let received = 0;
  let lost = false;
  const listener = (_channel: string, chunk: Buffer) => {
    received += chunk.length;
  };
  const attached = WireConnection.attach(guest, never, (_state, stream) => {
    ends.push(stream.exit.catch((reason: unknown) => reason));
    return listener;
  });
  await guest.meet();
  const states = Array.from({ length: live }, (_, i) => stateOf(i + 1));
  await guest.say(Buffer.concat([guest.hello(live), ...states]), () => false);
  const wire = await attached;
  void wire.lost.then(() => {
    lost = true;
  });
  const own = wire.open("process", { arguments: ["x"], stdin: true }, listener);
  ends.push(own.exit.catch((reason: unknown) => reason));
  return { wire, own, ends, received: () => received, lost: () => lost };
}

const exitPayload = Buffer.alloc(32);
const one = Buffer.alloc(1);
const ended: PuppetFrame[] = [
  { type: end, channel: 1, stream: 1 },
  { type: end, channel: 2, stream: 1 },
];
const violations: [string, RegExp, ...PuppetFrame[]][] = [
  ["an unknown type", /unknown type 99/, { type: 99 }],
  ["a type that only hosts send", /unknown type 6/, { type: frameTypes.open, stream: 2 }],
  ["another epoch", /epoch/, { type: pong, epochShift: 1 }],
  ["reserved bits", /reserved bits/, { type: pong, reserved: 1 }],
  ["a data frame past its size", /past 1048576/, { type: data, channel: 1, stream: 1, size: 1_048_577 }],
  ["a control frame past its size", /past 256/, { type: exit, stream: 1, size: 257 }],
  ["empty data", /empty data/, { type: data, channel: 1, stream: 1 }],
  ["an offset past 2^53", /past any stream's end/, { type: credit, stream: 1, offset: 2 ** 60 }],
  ["a stream that was never opened", /stream 7, which was never opened/, { type: started, stream: 7 }],
  ["data of stream 0", /stream 0/, { type: data, channel: 1, payload: one }],
  ["data on the input's channel", /data on channel 0/, { type: data, stream: 1, payload: one }],
  ["data out of order", /offset 5, not 0/, { type: data, channel: 1, stream: 1, offset: 5, payload: one }],
  ["credit for what was never sent", /credit for 1 of 0/, { type: credit, stream: 1, offset: 1 }],
  ["an end of no channel", /end of channel 3/, { type: end, channel: 3, stream: 1 }],
  ["an end elsewhere", /end at 4 of 0/, { type: end, channel: 1, stream: 1, offset: 4 }],
  ["an exit before the end of output", /exit before/, { type: exit, stream: 1, payload: exitPayload }],
  ["a short exit record", /exit record of 3 bytes/, ...ended, { type: exit, stream: 1, payload: Buffer.alloc(3) }],
  ["a state out of turn", /state of stream 1 out of turn/, { type: state, stream: 1, payload: statePayload() }],
  ["a hello of another owner", /another owner/, { type: hello, payload: Buffer.alloc(40) }],
  ["the loss of the sandbox", /says: gone\? \(errno 5\)/, { type: error, offset: 5, payload: Buffer.from("gone\n") }],
];

describe("what the host refuses of a guest", () => {
  it.each(violations)(
    "%s ends the wire with that reason, and every stream with it",
    async (_what, reason, ...frames) => {
      const owner = await attach();
      await guest.say(Buffer.concat(frames.map((frame) => guest.encode(frame))), owner.lost);
      expect(await owner.wire.lost).toMatch(reason);
      expect(await owner.ends[0]).toMatchObject({ code: "unavailable", message: expect.stringMatching(reason) });
      expect(() => owner.wire.open("process", { arguments: ["x"] }, () => {})).toThrow(/lost/);
    },
  );

  it("accepts each of them in its place", async () => {
    const owner = await attach(1);
    const frames: PuppetFrame[] = [
      { type: pong, offset: 3 },
      { type: started, stream: 2, offset: 9 },
      { type: data, channel: 1, stream: 2, payload: Buffer.alloc(64 * KiB) },
      { type: end, channel: 0, stream: 2 },
      { type: end, channel: 1, stream: 2, offset: 64 * KiB },
      { type: end, channel: 2, stream: 2 },
      { type: data, channel: 1, stream: 1, payload: one },
      { type: error, stream: 1, offset: 1, payload: Buffer.from("no") },
      { type: exit, stream: 2, payload: exitPayload },
    ];
    await guest.say(Buffer.concat(frames.map((frame) => guest.encode(frame))), owner.lost);
    expect(await owner.own.exit).toMatchObject({ exitCode: 0 });
    expect(await owner.own.started).toBe(9);
    expect(await owner.ends[0]).toMatchObject({ message: expect.stringMatching(/the guest refused: no/) });
    expect(owner.lost()).toBe(false);
    expect(owner.received()).toBe(64 * KiB + 1);
    owner.wire.close("done");
  });

  it("pieces that nobody takes hold a bounded number of the buffers that they came in", async () => {
    const streams = 4 * wireLimits.receiveHeld;
    const owner = await attach(streams);
    const payload = Buffer.alloc(wireLimits.receiveCopyBytes + 1);
    const before = process.memoryUsage().arrayBuffers;
    for (let stream = 1; stream <= streams; stream++) {
      await guest.say(guest.encode({ type: data, channel: 1, stream, payload }), owner.lost);
      while (owner.received() < stream * payload.length) await turn();
    }
    const grown = process.memoryUsage().arrayBuffers - before;
    expect(grown).toBeLessThan(
      (wireLimits.receiveHeld + wireLimits.receiveSpares + 1) * wireLimits.receiveBytes + 4 * MiB,
    );
    owner.wire.close("done");
    await Promise.all(owner.ends);
  });

  it("a flood that nobody takes is cut at the window of its channel", async () => {
    const owner = await attach();
    const payload = Buffer.alloc(64 * KiB);
    for (let offset = 0; !owner.lost(); offset += payload.length)
      await guest.say(guest.encode({ type: data, channel: 1, stream: 1, offset, payload }), owner.lost);
    expect(await owner.wire.lost).toMatch(/window/);
    expect(owner.received()).toBeLessThanOrEqual(wireLimits.outputWindowBytes);
    await Promise.all(owner.ends);
  });

  it.each<[string, () => Buffer[], RegExp]>([
    ["of another version", () => [guest.hello(0, 0, 1)], /version 1/],
    ["of another epoch", () => [guest.encode({ type: hello, epochShift: 1, payload: guest.nonce })], /epoch/],
    ["that is none", () => [guest.encode({ type: data, stream: 1, payload: guest.nonce })], /never opened/],
    ["with more streams than a guest has", () => [guest.hello(1025)], /hello with 1025 streams/],
    ["and a state too many", () => [guest.hello(2, 1), stateOf(1), stateOf(2)], /2 out of turn/],
    ["and a state past its last id", () => [guest.hello(1), stateOf(2)], /2 out of turn/],
    ["and a state told twice", () => [guest.hello(2), stateOf(1), stateOf(1)], /1 out of turn/],
    ["and a short state", () => [guest.hello(1), stateOf(1, Buffer.alloc(39))], /state of 39 bytes/],
    ["and more input taken than sent", () => [guest.hello(1), stateOf(1, statePayload(3, 4))], /4 of 3 bytes/],
    ["and input past its window", () => [guest.hello(1), stateOf(1, statePayload(65_537))], /0 of 65537 bytes/],
    ["and a state past 2^53", () => [guest.hello(1), stateOf(1, statePayload(2 ** 60))], /state past/],
  ])("a hello %s is refused", async (_what, say, reason) => {
    // What is refused behind a whole hello is why the wire is lost again.
    const failure = WireConnection.attach(guest, never)
      .then((wire) => wire.lost)
      .catch((refusal: Error) => refusal.message);
    await guest.meet();
    await guest.say(Buffer.concat(say()), () => false);
    expect(await failure).toMatch(reason);
  });

  it("frames behind the one that ended the wire count no more", async () => {
    let adopted = 0;
    const attached = WireConnection.attach(guest, never, () => {
      adopted++;
      return () => undefined;
    });
    const failure = attached.catch((refusal: unknown) => refusal);
    await guest.meet();
    const gone = guest.encode({ type: error, offset: 5, payload: Buffer.from("gone") });
    await guest.say(Buffer.concat([guest.hello(1), gone, stateOf(1)]), () => false);
    expect(await failure).toMatchObject({ message: expect.stringMatching(/gone/) });
    expect(adopted).toBe(0);
  });
});

const around = (...values: number[]) => fc.constantFrom(...values.flatMap((value) => [value - 1, value, value + 1]));
const u32 = fc.nat({ max: 2 ** 32 - 1 });
const frame: fc.Arbitrary<PuppetFrame> = fc.record(
  {
    type: fc.oneof(
      { weight: 20, arbitrary: fc.constantFrom(data, credit, end, exit, started, state, error, pong) },
      fc.nat(255),
    ),
    channel: fc.oneof({ weight: 9, arbitrary: fc.nat(2) }, fc.nat(255)),
    stream: fc.oneof({ weight: 9, arbitrary: fc.nat(4) }, u32),
    offset: fc.oneof(fc.constant(0), around(1, 8 * KiB, 64 * KiB, 2 ** 32, 2 ** 53), fc.maxSafeNat()),
    payload: fc.oneof(
      fc.constant(exitPayload),
      fc.constant(statePayload()),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      fc.constant(Buffer.alloc(20 * KiB)),
    ),
    epochShift: fc.oneof({ weight: 50, arbitrary: fc.constant(0) }, fc.nat(3)),
    reserved: fc.oneof({ weight: 50, arbitrary: fc.constant(0) }, u32),
    size: fc.oneof(around(1, 256, wireLimits.fromGuestPayloadBytes), u32),
  },
  { requiredKeys: ["type", "channel", "stream"] },
);
const mutation = fc.record({ at: fc.nat(), value: fc.nat(255) });

/** Half of the frames keep their own size, or nothing behind the first would be read as a frame. */
const talk = fc.record({
  frames: fc.array(
    fc.oneof(
      frame,
      frame.map(({ size, ...rest }) => rest),
    ),
    { minLength: 1, maxLength: 12 },
  ),
  mutations: fc.oneof(fc.constant([]), fc.array(mutation, { maxLength: 4 })),
});

describe("frames at random", () => {
  it("never throw, never hang: the wire goes on or ends with a reason, and every stream ends", async () => {
    const property = fc.asyncProperty(talk, async ({ frames, mutations }) => {
      const owner = await attach(2);
      const bytes = Buffer.concat(frames.map((one) => guest.encode(one)));
      for (const { at, value } of mutations) bytes[at % bytes.length] = value;
      await guest.say(bytes, owner.lost);
      // Whatever frame is under way, this many bytes end it, and then are none.
      await guest.say(Buffer.alloc(2 * wireLimits.fromGuestPayloadBytes, 0xff), owner.lost);
      expect(await owner.wire.lost).toMatch(/^the guest (sent|says: )/);
      await Promise.all(owner.ends);
      expect(owner.received()).toBeLessThanOrEqual(owner.ends.length * 2 * wireLimits.outputWindowBytes);
    });
    await fc.assert(property, { seed, numRuns: soak ? 20_000 : 150 });
  });

  it("before the answer to its nonce are read past, or the guest is given up", async () => {
    const junk = fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 });
    const property = fc.asyncProperty(junk, fc.nat(40), async (chunks, torn) => {
      const attached = WireConnection.attach(guest, never);
      await guest.meet();
      const last = guest.encode({ type: pong }).subarray(0, torn);
      await guest.say(Buffer.concat([...chunks, last, guest.hello()]), () => false);
      const wire = await attached;
      wire.close("done");
      expect(await wire.lost).toBe("done");
    });
    await fc.assert(property, { seed, numRuns: soak ? 5_000 : 50 });
  });
});

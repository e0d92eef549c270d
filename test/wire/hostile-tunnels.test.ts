import { once } from "node:events";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Tunnel } from "../../packages/server/src/core/tunnel.ts";
import { WireConnection } from "../../packages/server/src/wire/connection.ts";
import { frameTypes } from "../../packages/server/src/wire/frame.ts";
import { wireLimits } from "../../packages/server/src/wire/limits.ts";
import { seed, soak } from "../harness.ts";
import { type PuppetFrame, PuppetGuest } from "./puppet-guest.ts";

const { data, credit, end, exit, started, error } = frameTypes;
const KiB = 1024;
const never = new Promise<string>(() => {});
const spot = 0x7f40_0001 * 65_536 + 3128;
/** The ids of what an owner has opened: a socket for datagrams, a listener, and the first stream for a connection. */
const [datagrams, listener, first] = [1, 2, 3];

let guest: PuppetGuest;
beforeEach(() => {
  guest = new PuppetGuest();
});
afterEach(() => {
  guest[Symbol.dispose]();
});

interface Owner {
  wire: WireConnection;
  accepted: Tunnel[];
  datagrams: Buffer[];
  lost: () => boolean;
}

/** An owner that listens, and whose connections nobody reads. */
async function attach(): Promise<Owner> {
  const attached = WireConnection.attach(guest, never);
  await guest.meet();
  await guest.say(guest.hello(), () => false);
  const owner: Owner = { wire: await attached, accepted: [], datagrams: [], lost: () => lost };
  let lost = false;
  void owner.wire.lost.then(() => {
    lost = true;
  });
  const { tunnels } = owner.wire;
  const receiving = tunnels.listenDatagrams("127.64.0.1", 53, ({ bytes }, send) => {
    owner.datagrams.push(bytes);
    send(bytes);
  });
  const listening = tunnels.listen("127.64.0.1", 3128, (tunnel) => owner.accepted.push(tunnel));
  await say(owner, { type: started, stream: listener }, { type: started, stream: datagrams });
  await Promise.all([listening, receiving].map((one) => one.catch(() => undefined)));
  return owner;
}

function say(owner: Owner, ...frames: PuppetFrame[]): Promise<void> {
  return guest.say(Buffer.concat(frames.map((frame) => guest.encode(frame))), owner.lost);
}

function u32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [i, value] of values.entries()) bytes.writeUInt32LE(value, 4 * i);
  return bytes;
}

const connection = (stream: number, of = listener): PuppetFrame => ({
  type: started,
  stream,
  offset: spot,
  payload: u32(of),
});
const one = Buffer.alloc(1);
const big = Buffer.alloc(128 * KiB);
const exitPayload = Buffer.alloc(32);
const datagram = (size: number) => Buffer.concat([u32(size, 5353, 0x7f00_0001, 0), Buffer.alloc(size, "q")]);

const violations: [string, RegExp, ...PuppetFrame[]][] = [
  ["data of a listener", /data of a listener/, { type: data, channel: 1, stream: listener, payload: one }],
  ["credit of a listener", /credit of a listener/, { type: credit, stream: listener }],
  ["data of no connection", /data before/, { type: data, channel: 1, stream: first, payload: one }],
  ["credit of no connection", /credit before/, { type: credit, stream: first }],
  ["a connection of which nothing is said", /with 0 bytes about it/, { type: started, stream: first, offset: spot }],
  ["a connection to no address", /no IPv4 address/, { ...connection(first), offset: 2 ** 48 }],
  ["a connection that starts twice", /starts twice/, connection(first), connection(first)],
  [
    "data on another channel",
    /data on channel 2/,
    connection(first),
    { type: data, channel: 2, stream: first, payload: one },
  ],
  [
    "data out of order",
    /offset 3, not 0/,
    connection(first),
    { type: data, channel: 1, stream: first, offset: 3, payload: one },
  ],
  ["an end elsewhere", /end at 9 of 0/, connection(first), { type: end, channel: 1, stream: first, offset: 9 }],
  [
    "data after its end",
    /data after the end/,
    connection(first),
    { type: end, channel: 1, stream: first },
    { type: data, channel: 1, stream: first, payload: one },
  ],
  [
    "credit for what was never sent",
    /credit for 1 of 0/,
    connection(first),
    { type: credit, stream: first, offset: 1 },
  ],
  ["an exit before the end", /exit before/, connection(first), { type: exit, stream: first, payload: exitPayload }],
  [
    "a datagram too large",
    /a datagram of 4057 bytes/,
    { type: data, channel: 1, stream: datagrams, payload: u32(4057, 0, 0, 0) },
  ],
  [
    "an empty datagram",
    /a datagram of 0 bytes/,
    { type: data, channel: 1, stream: datagrams, payload: u32(0, 0, 0, 0) },
  ],
  [
    "datagrams out of order",
    /datagrams at offset 1/,
    { type: data, channel: 1, stream: datagrams, offset: 1, payload: one },
  ],
  ["credit for no answer", /credit for 5 of 0/, { type: credit, stream: datagrams, offset: 5 }],
];

describe("what the host refuses of a guest about connections", () => {
  it.each(violations)(
    "%s ends the wire with that reason, and every connection with it",
    async (_what, reason, ...frames) => {
      const owner = await attach();
      await say(owner, ...frames);
      expect(await owner.wire.lost).toMatch(reason);
      expect(owner.accepted.every((tunnel) => tunnel.destroyed)).toBe(true);
      await expect(owner.wire.tunnels.dial(80)).rejects.toThrow(/lost/);
    },
  );

  it("more than a connection's window, where nobody reads", async () => {
    const owner = await attach();
    await say(owner, connection(first));
    for (let offset = 0; !owner.lost(); offset += big.length)
      await say(owner, { type: data, channel: 1, stream: first, offset, payload: big });
    expect(await owner.wire.lost).toMatch(/more data than its window allows/);
  });

  it("more than the windows of all of them together", async () => {
    const owner = await attach();
    for (let stream = first; !owner.lost() && stream < first + 200; stream++) {
      await say(owner, connection(stream));
      for (let offset = 0; offset < 2 * big.length; offset += big.length)
        await say(owner, { type: data, channel: 1, stream, offset, payload: big });
    }
    expect(await owner.wire.lost).toMatch(/more data of connections than their windows allow/);
    expect(owner.accepted.length).toBeLessThan(40);
  });

  it("a connection that nobody opened a stream for", async () => {
    const owner = await attach();
    const opened = first + wireLimits.awaited;
    await say(owner, connection(opened));
    expect(await owner.wire.lost).toMatch(/which was never opened/);
  });

  it("and takes each of them in its place", async () => {
    const owner = await attach();
    await say(owner, connection(first), connection(first + 1, 999), {
      type: data,
      channel: 1,
      stream: first,
      payload: one,
    });
    while (owner.accepted.length === 0) await new Promise(setImmediate);
    expect(owner.accepted[0]?.local).toEqual({ address: "127.64.0.1", port: 3128 });
    const whole = Buffer.concat([datagram(3), datagram(wireLimits.datagramBytes)]);
    await say(
      owner,
      { type: data, channel: 1, stream: datagrams, payload: whole.subarray(0, 20) },
      { type: data, channel: 1, stream: datagrams, offset: 20, payload: whole.subarray(20) },
      { type: end, channel: 1, stream: first, offset: 1 },
      { type: end, channel: 2, stream: first },
      { type: error, stream: first + 2, offset: 5, payload: Buffer.from("no") },
      { type: exit, stream: first, payload: exitPayload },
    );
    while (owner.datagrams.length < 2) await new Promise(setImmediate);
    expect(owner.datagrams.map(({ length }) => length)).toEqual([3, wireLimits.datagramBytes]);
    expect(owner.accepted.length).toBe(1); // that of no listener was reset
    expect(owner.lost()).toBe(false);
    owner.wire.close("done");
  });

  it("frames at random never throw, never hang: the wire goes on or ends with a reason", async () => {
    const frame: fc.Arbitrary<PuppetFrame> = fc.record(
      {
        type: fc.constantFrom(data, credit, end, exit, started, error),
        channel: fc.nat(2),
        stream: fc.integer({ min: 1, max: 8 }),
        offset: fc.oneof(fc.constant(0), fc.constant(spot), fc.nat(20), fc.maxSafeNat()),
        payload: fc.oneof(
          fc.constant(u32(listener)),
          fc.constant(exitPayload),
          fc.constant(datagram(9)),
          fc.constant(big),
          fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
        ),
      },
      { requiredKeys: ["type", "channel", "stream"] },
    );
    const property = fc.asyncProperty(
      fc.array(frame, { minLength: 1, maxLength: 12 }),
      fc.boolean(),
      async (frames, reads) => {
        const owner = await attach();
        await say(owner, connection(first), connection(first + 1));
        for (const tunnel of owner.accepted) if (reads) tunnel.resume().write(big);
        await say(owner, ...frames);
        await guest.say(Buffer.alloc(256 * KiB, 0xff), owner.lost);
        expect(await owner.wire.lost).toMatch(/^the guest (sent|says: )/);
        // One that had ended before is there until somebody has read that; whoever does, and ends it, is done with it.
        for (const tunnel of owner.accepted) if (!tunnel.closed) await once(tunnel.resume().end(), "close");
      },
    );
    await fc.assert(property, { seed, numRuns: soak ? 5_000 : 150 });
  });
});

import { readdirSync } from "node:fs";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { CreatedSandbox } from "../../packages/server/src/core/engine.ts";
import { WireConnection } from "../../packages/server/src/wire/connection.ts";
import { frameTypes } from "../../packages/server/src/wire/frame.ts";
import { wireLimits } from "../../packages/server/src/wire/limits.ts";
import { engines, openTestEngine, seed, soak, type TestEngine } from "../harness.ts";
import { encodeFrame, type HostFrame, HostileHost, row } from "./hostile-host.ts";

const { config, open, data, credit, end, close, signal, exit, state } = frameTypes;
const tags = {
  argument: 1,
  environment: 2,
  timeoutMs: 4,
  cpuMs: 5,
  memoryBytes: 7,
  flags: 9,
  path: 10,
  leaseMs: 15,
  spot: 23,
};
const kinds = { process: 1, read: 2, write: 3, list: 4, listen: 14, accept: 15 };
const spec = 3;
const most = 2n ** 64n - 1n;
const MiB = 1024 ** 2;
/** Streams of one talk at random. */
const ids = 12;
const limits = { memoryBytes: 128 * MiB, cpus: 1, cpuShares: 1024, processes: 64, storageBytes: 16 * MiB };

const words = (...list: string[]) => Buffer.concat(list.map((word) => row(tags.argument, word)));
const opening = (stream: number, rows: Buffer, kind: number = kinds.process): HostFrame => ({
  type: open,
  channel: kind,
  stream,
  offset: BigInt(rows.length),
  payload: rows,
});

describe.each(engines)("a hostile host (%s)", (engineName) => {
  let test: TestEngine;
  let created: CreatedSandbox;
  let host: HostileHost;
  beforeAll(async () => {
    test = await openTestEngine(engineName);
  });
  afterAll(async () => {
    await test[Symbol.asyncDispose]();
  });
  const begin = async () => {
    created = await test.engine.create({ limits });
    host = new HostileHost(created, test.engine.waitExit(created.id));
    await host.resync();
  };
  const stop = async () => {
    host[Symbol.dispose]();
    await test.engine.destroy(created.id);
  };
  beforeEach(begin);
  afterEach(stop);

  const exitOf = (id: number) => host.answer(({ type, stream }) => type === exit && stream === id);
  /** An honest owner finds a guest that serves. */
  async function serves(): Promise<void> {
    const wire = await WireConnection.attach(created, test.engine.waitExit(created.id));
    expect(await wire.open("process", { arguments: ["/bin/sh", "-c", "exit 7"] }, () => {}).exit).toMatchObject({
      exitCode: 7,
    });
    wire.close("done");
  }
  const idle = async () => {
    if (engineName === "container") await host.calm();
  };

  it.each([
    ["a lease", { type: config, payload: row(tags.leaseMs, 8n << 32n) }],
    ["the longest lease", { type: config, payload: row(tags.leaseMs, most) }],
    ["a warm interpreter's time", { type: config, payload: row(tags.timeoutMs, most) }],
    ["a time limit", opening(1, Buffer.concat([words("/bin/sleep", "1000"), row(tags.timeoutMs, most)]))],
    ["a limit of CPU time", opening(1, Buffer.concat([words("/bin/sleep", "1000"), row(tags.cpuMs, most)]))],
    ["a time past 2^63", opening(1, Buffer.concat([words("/bin/sleep", "1000"), row(tags.timeoutMs, 2n ** 63n + 5n)]))],
    ["the size of a spec", { type: open, channel: kinds.process, stream: 1, offset: most }],
    ["a signal", { type: signal, stream: 1, offset: most }],
  ] satisfies [string, HostFrame][])("%s of an absurd size leaves the guest idle and serving", async (_what, frame) => {
    await host.frames(frame);
    await host.mustLive();
    await idle();
    await host.frames({ type: close, stream: 1 });
    await serves();
  });

  it("ends what an owner left half told: its successor can close it, and learns that it never ran", async () => {
    const rows = words("/bin/sh", "-c", "echo never");
    await host.frames({ ...opening(1, rows), payload: rows.subarray(0, 5) });
    await host.mustLive();
    host.answers.length = 0;
    await host.resync();
    const record = await exitOf(1);
    expect(record?.payload.readUInt32LE(4)).toBe(16); // not started
    await host.frames({ type: data, channel: spec, stream: 1, payload: rows.subarray(5) });
    await host.mustLive();
    expect(host.answers.some(({ type, channel }) => type === data && channel === 1)).toBe(false);
  });

  it("takes any number of streams that are opened by half and closed", async () => {
    const half = (stream: number): HostFrame => ({ type: open, channel: kinds.process, stream, offset: 100n });
    for (let id = 1; id <= 1200; id += 100) {
      const ids = Array.from({ length: 100 }, (_, i) => id + i);
      await host.frames(...ids.flatMap((stream) => [half(stream), { type: close, stream }]));
      await host.mustLive();
    }
    await host.frames(opening(2000, words("/bin/sh", "-c", "exit 3")));
    expect((await exitOf(2000))?.payload.readInt32LE(0)).toBe(3 << 8);
  });

  it("more of a spec than was announced changes nothing for a run that goes on", async () => {
    await host.frames(
      opening(1, words("/bin/sh", "-c", "trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done")),
    );
    await host.answer(({ type, stream }) => type === data && stream === 1); // it is ready for the signal
    await host.frames({ type: data, channel: spec, stream: 1, payload: words("more") });
    await host.mustLive();
    await host.frames({ type: signal, stream: 1, offset: 15n });
    expect((await exitOf(1))?.payload.readInt32LE(0)).toBe(4 << 8);
  });

  it("credit for bytes that are not written yet frees nothing under the guest's hands", async () => {
    // Nobody reads: the guest is in the middle of a frame when the credit for all of it comes.
    await host.frames(opening(1, words("/bin/sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x")));
    if (engineName === "container") await host.calm();
    for (let at = 0; at <= 262_144; at += 1024)
      await host.frames({ type: credit, channel: 1, stream: 1, offset: BigInt(at) });
    await host.frames({ type: credit, channel: 1, stream: 1, offset: 200_000n });
    for (let id = 2; id < 6; id++)
      await host.frames(opening(id, words("/bin/sh", "-c", "head -c 200000 /dev/urandom")));
    await idle();
    let bytes = Buffer.alloc(0);
    for (; bytes.length < 200_000; ) {
      await host.frames({ type: credit, channel: 1, stream: 1, offset: BigInt(bytes.length) });
      await host.alive();
      const pieces = host.answers.filter(({ type, stream, channel }) => type === data && stream === 1 && channel === 1);
      bytes = Buffer.concat(pieces.map(({ payload }) => payload));
    }
    expect(bytes.equals(Buffer.alloc(200_000, "x"))).toBe(true);
  });

  it.runIf(engineName === "container")(
    "costs no processor by a run that has closed its input, nor by one that has ended with output nobody takes",
    async () => {
      const closed = words("/bin/sh", "-c", "exec 0<&-; echo closed; exec sleep 1000");
      await host.frames(
        opening(1, Buffer.concat([closed, row(tags.flags, 1n)])),
        opening(2, words("/bin/sh", "-c", "head -c 300000 /dev/zero")),
      );
      for (const id of [1, 2]) await host.answer(({ type, stream }) => type === data && stream === id);
      await host.calm();
    },
  );

  it("says why it ends at a frame that is too long, also behind a crowd of other refusals", async () => {
    const refused: HostFrame[] = Array.from({ length: 40 }, (_, i) => ({ type: open, channel: 99, stream: i + 1 }));
    refused.push({ type: config, payload: Buffer.alloc(1) });
    await host.frames(...refused, { type: data, size: wireLimits.toGuestFrameBytes });
    expect(await host.said("frame too long")).toBe(true);
  });

  /** No lease: that is a way to end without a word. */
  const tag = fc.constantFrom(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, tags.spot);
  const u64 = fc.bigInt({ min: 0n, max: most });
  const rows = fc
    .array(
      fc.oneof(
        fc.constant(words("/bin/sh", "-c", "cat; echo x >&2")),
        fc.tuple(tag, u64).map(([which, value]) => row(which, value)),
        fc.constant(row(tags.path, "a/b")),
        fc.constant(row(tags.flags, 7n)),
        fc.bigInt({ min: 5000n, max: 5003n }).map((port) => row(tags.spot, 0x7f40_0001n * 65_536n + port)),
        fc.bigInt({ min: 5000n, max: 5003n }).map((port) => row(tags.spot, port)),
        fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes)),
      ),
      { maxLength: 5 },
    )
    .map((list) => Buffer.concat(list));
  const frame: fc.Arbitrary<HostFrame> = fc.oneof(
    fc
      .record({ kind: fc.nat(19), stream: fc.integer({ min: 1, max: ids }), rows })
      .map((one) => opening(one.stream, one.rows, one.kind)),
    fc.record(
      {
        type: fc.oneof(
          { weight: 9, arbitrary: fc.constantFrom(data, credit, end, close, signal, config, open) },
          fc.nat(255),
        ),
        channel: fc.oneof({ weight: 9, arbitrary: fc.nat(3) }, fc.nat(255)),
        stream: fc.oneof({ weight: 9, arbitrary: fc.nat(ids) }, fc.nat()),
        offset: fc.oneof(fc.bigInt({ min: 0n, max: 20n }), u64),
        payload: fc.oneof(
          rows,
          fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
        ),
        epoch: fc.oneof({ weight: 20, arbitrary: fc.constant(1) }, fc.nat(3)),
      },
      { requiredKeys: ["type", "channel", "stream"] },
    ),
  );

  // gVisor's guest is no process of the host's, that could be stopped.
  it.runIf(engineName === "container")(
    "that ends a listener as somebody connects to it leaves the guest serving",
    async () => {
      const connect = [
        "import os, signal, socket",
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])",
        "print('waits', flush=True)",
        "signal.sigwait([signal.SIGUSR1])",
        "connection = socket.create_connection(('127.0.0.1', 5000))",
        "os.execv('/bin/sleep', ['connected', '1000'])",
      ];
      const spot = (0x7f000001n << 16n) | 5000n;
      await host.frames(opening(1, row(tags.spot, spot), kinds.listen), opening(2, row(tags.spot, 1n), kinds.accept));
      await host.frames(opening(3, words("/usr/bin/python3", "-c", connect.join("\n"))));
      await host.answer(({ type, stream }) => type === data && stream === 3);
      const resume = await host.stopGuest();
      await host.frames({ type: close, stream: 1 });
      process.kill(await host.pidOf("sigwait"), "SIGUSR1");
      await host.pidOf("connected");
      resume();
      await host.mustLive();
    },
  );

  it("that says anything at all in whole frames finds a guest that goes on, and that is idle and holds nothing afterwards", async () => {
    // Ids only grow: each talk has some of its own, and what the last one left open is closed.
    let first = 0;
    const own = (one: HostFrame): HostFrame => ({
      ...one,
      stream: one.stream ? first + ((one.stream - 1) % ids) + 1 : 0,
    });
    const property = fc.asyncProperty(fc.array(frame, { minLength: 1, maxLength: 20 }), async (frames) => {
      await host.frames(...frames.map(own));
      await host.resync();
      await host.mustLive();
      await host.frames(...Array.from({ length: ids }, (_, i): HostFrame => ({ type: close, stream: first + i + 1 })));
      first += ids;
    });
    await fc.assert(property, { seed, numRuns: soak ? 3_000 : 40 });
    host.answers.length = 0;
    await host.resync();
    await host.mustLive();
    const left = host.answers.filter(({ type }) => type === state);
    await host.frames(...left.map(({ stream }): HostFrame => ({ type: close, stream })));
    if (engineName !== "container") return;
    while (readdirSync(`/proc/${host.guestPid}/fd`).length > 24) await host.mustLive();
    await host.calm();
  });

  it("that says what is no frame is told so: the guest ends with a reason, and nothing of it stays", async () => {
    const mutations = fc.array(fc.record({ at: fc.nat(), value: fc.nat(255) }), { minLength: 1, maxLength: 4 });
    const property = fc.asyncProperty(
      fc.array(frame, { minLength: 1, maxLength: 20 }),
      mutations,
      async (frames, list) => {
        const bytes = Buffer.concat(frames.map(encodeFrame));
        for (const { at, value } of list) bytes[at % bytes.length] = value;
        await host.send(bytes);
        // Fills whatever frame is under way, and then is none.
        await host.send(Buffer.alloc(2 * wireLimits.toGuestFrameBytes, 0xff));
        expect(await host.said("frame too long")).toBe(true);
        await stop();
        await begin();
      },
    );
    await fc.assert(property, { seed, numRuns: soak ? 500 : 8 });
  });
});

import { createHash } from "node:crypto";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CreatedSandbox, Engine } from "../../packages/server/src/core/engine.ts";
import { errnoOf } from "../../packages/server/src/core/errors.ts";
import type { OutputChannel, OutputListener, StreamState, WireStream } from "../../packages/server/src/core/wire.ts";
import { WireConnection } from "../../packages/server/src/wire/connection.ts";
import { engines, openTestEngine, type TestEngine } from "../harness.ts";
import { killProcessesOf } from "../leaks.ts";

const never = new Promise<string>(() => {});
const environment = { PATH: "/usr/bin:/bin" };

describe.each(engines)("another owner (%s)", (engineName) => {
  let test: TestEngine;
  let engine: Engine;
  let created: CreatedSandbox;
  beforeAll(async () => {
    test = await openTestEngine(engineName);
    engine = test.engine;
  });
  afterAll(async () => {
    await test[Symbol.asyncDispose]();
  });
  const create = async () => {
    const limits = {
      memoryBytes: 128 * 1024 ** 2,
      cpus: 1,
      cpuShares: 1024,
      processes: 64,
      storageBytes: 16 * 1024 ** 2,
    };
    created = await engine.create({ limits });
    return created;
  };

  /** A new owner's wire, with the one stream there is; what it receives counts as stored. */
  async function adoptOne(
    listener: OutputListener,
  ): Promise<{ wire: WireConnection; state: StreamState; stream: WireStream }> {
    const found = Promise.withResolvers<{ state: StreamState; stream: WireStream }>();
    const wire = await WireConnection.attach(created, never, (state, stream) => {
      found.resolve({ state, stream });
      return (channel, chunk) => {
        listener(channel, chunk);
        stream.consumed(channel, chunk.length);
      };
    });
    return { wire, ...(await found.promise) };
  }

  it("takes over in the middle of everything: no byte of output is lost or doubled, input goes on (hazards 13, 14)", async () => {
    await create();
    const received: Record<OutputChannel, Buffer[]> = { stdout: [], stderr: [] };
    const first = await WireConnection.attach(created, never);
    const script = "for i in $(seq 20000); do echo line $i; done; cat | sha256sum >&2";
    // What is not acknowledged was never stored: the first owner takes a window's worth and stores none of it.
    const body = Buffer.alloc(300_000, "input ");
    let seen = 0;
    const half = Promise.withResolvers<void>();
    const stream = first.open(
      "process",
      { arguments: ["bash", "-c", script], environment, stdin: true },
      (_channel, chunk) => {
        seen += chunk.length;
        if (seen > 100_000) half.resolve();
      },
    );
    void stream.write(body);
    await half.promise;
    first.close("killed");

    const {
      wire: second,
      state,
      stream: adopted,
    } = await adoptOne((channel, chunk) => received[channel].push(Buffer.from(chunk)));
    await adopted.write(body.subarray(state.inputReceived));
    adopted.end();
    expect(await adopted.exit).toMatchObject({ exitCode: 0 });
    const expected = Array.from({ length: 20_000 }, (_, i) => `line ${i + 1}\n`).join("");
    expect(Buffer.concat(received.stdout).toString()).toBe(expected);
    expect(Buffer.concat(received.stderr).toString()).toContain(createHash("sha256").update(body).digest("hex"));
    second.close("done");
    await engine.destroy(created.id);
  });

  it("a process whose output nobody takes waits; nothing of it is lost when somebody comes (hazard 14)", async () => {
    await create();
    const first = await WireConnection.attach(created, never);
    const stream = first.open(
      "process",
      { arguments: ["bash", "-c", "head -c 3000000 /dev/zero; echo end >&2"], environment },
      () => {},
    );
    await stream.started;
    first.close("killed");
    let total = 0;
    const { wire: second, stream: adopted } = await adoptOne((channel, chunk) => {
      if (channel === "stdout") total += chunk.length;
    });
    expect(await adopted.exit).toMatchObject({ exitCode: 0 });
    expect(total).toBe(3_000_000);
    second.close("done");
    await engine.destroy(created.id);
  });

  it("an exit that nobody stored is told again (hazard 14)", async () => {
    await create();
    const first = await WireConnection.attach(created, never);
    const fd = openSync(created.fromGuestPath, constants.O_RDONLY | constants.O_NONBLOCK);
    first.open("process", { arguments: ["bash", "-c", "exit 9"], environment }, () => {});
    // Nothing of the answer reaches the first owner: it is gone before it reads.
    first.close("killed");
    let bytes = 0;
    for (let tries = 0; tries < 400 && bytes === 0; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      try {
        bytes = readSync(fd, Buffer.alloc(65536));
      } catch (error) {
        if (errnoOf(error) !== "EAGAIN") throw error;
      }
    }
    closeSync(fd);
    expect(bytes).toBeGreaterThan(0);
    const { wire: second, stream: adopted } = await adoptOne(() => {});
    expect(await adopted.exit).toMatchObject({ exitCode: 9 });
    second.close("done");
    await engine.destroy(created.id);
  });

  it("the death of a guest is learnt from the engine, not from the wire (hazard 15)", async () => {
    await create();
    const wire = await WireConnection.attach(created, engine.waitExit(created.id));
    const stream = wire.open("process", { arguments: ["sleep", "100"], environment }, () => {});
    await stream.started;
    const ended = stream.exit.catch((error: unknown) => error);
    killProcessesOf(created.id);
    expect(await ended).toMatchObject({ code: "unavailable" });
    expect(await wire.lost).toMatch(/ended/);
    await engine.destroy(created.id);
  });
});

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

const MiB = 1024 ** 2;

describe.each(engines)("a sandbox that waits (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 64 * MiB } });
  });
  afterAll(async () => {
    await sandbox.destroy();
    await test[Symbol.asyncDispose]();
  });

  const cpuMs = async () => (await sandbox.stats()).cpuMs;

  /** Returns once it has used next to nothing for a while. One that turns for nothing never does. */
  async function untilIdle(): Promise<void> {
    for (;;) {
      const before = await cpuMs();
      await sleep(500);
      if ((await cpuMs()) - before < 25) return;
    }
  }

  it("uses no processor for an ended run whose output nobody takes, and then gives all of it", async () => {
    const size = 300_000; // more than the guest holds, less than it and the pipe do
    const taken = Promise.withResolvers<void>();
    let received = 0;
    const run = await sandbox.start({
      command: `head -c ${size} /dev/zero`,
      onOutput: (_, chunk) => {
        received += chunk.length;
        return taken.promise;
      },
    });
    await untilIdle();
    taken.resolve();
    expect(await run.result).toMatchObject({ exit_code: 0 });
    expect(received).toBe(size);
  });

  it("tells when a process has closed its input, and uses no processor for it", async () => {
    const stream = sandbox.wire.open(
      "process",
      {
        arguments: ["/bin/bash", "-c", "exec 0<&-; sleep infinity"],
        environment: sandbox.environment,
        folder: "/workspace",
        stdin: true,
      },
      () => {},
    );
    while (await stream.write(Buffer.alloc(0))) await sleep(10);
    await untilIdle();
    stream.killTree();
    expect(await stream.exit).toMatchObject({ killed: true });
  });
});

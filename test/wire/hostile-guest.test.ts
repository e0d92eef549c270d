import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCaisson } from "../../packages/server/src/app.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { wireLimits } from "../../packages/server/src/wire/limits.ts";
import { makeDataFolder } from "../data-folder.ts";
import { engines, openTestCaisson, root, type TestCaisson } from "../harness.ts";
import { findLeaks } from "../leaks.ts";

const modes = {
  garbage: { mode: 1, reason: /unknown type/ },
  "a huge length": { mode: 2, reason: /4294967295 bytes/ },
  "a million opens": { mode: 3, reason: /unknown type 6/ },
  "frames of a stream that was never opened": { mode: 5, reason: /never opened/ },
  "more data than its window": { mode: 6, reason: /window/ },
  "frames of another epoch": { mode: 7, reason: /epoch/ },
} as const;

const small = { limits: { memoryBytes: 64 * 1024 ** 2, storageBytes: 16 * 1024 ** 2 } };

let folder: string;
let neighbours: TestCaisson;
let alive: Sandbox[];
/** How the silent ones ended, and after how long: they are waited for while the others are tried. */
let silent: Map<EngineName, Promise<{ ended: unknown; tookMs: number }>>;

const compiled = new Map<number, Promise<string>>();

function guestOf(mode: number): Promise<string> {
  const path = compiled.get(mode) ?? compile(mode);
  compiled.set(mode, path);
  return path;
}

async function compile(mode: number): Promise<string> {
  const path = join(folder, `guest-${mode}`);
  const source = join(import.meta.dirname, "hostile-guest.c");
  await promisify(execFile)("musl-gcc", [
    "-static",
    "-O1",
    `-DMODE=${mode}`,
    `-DVERSION=${wireLimits.version}`,
    source,
    "-o",
    path,
  ]);
  return path;
}

/** Runs something in a sandbox with this guest, and returns how that ended. */
async function tryGuest(engine: EngineName, mode: number): Promise<unknown> {
  const home = await makeDataFolder(join(folder, "home-"));
  try {
    await using caisson = openCaisson({ home, root, guestPath: await guestOf(mode) });
    await using sandbox = await caisson.createSandbox({ engine, ...small });
    // Nobody takes the output, so that what is past the window is seen.
    const onOutput = () => new Promise<void>(() => {});
    await (await sandbox.start({ command: ["true"], trackFiles: false, onOutput })).result;
    return "ran";
  } catch (error) {
    return error;
  } finally {
    expect(findLeaks(home)).toEqual([]);
  }
}

async function trySilence(engine: EngineName): Promise<{ ended: unknown; tookMs: number }> {
  const before = performance.now();
  const ended = await tryGuest(engine, 4).catch((error: unknown) => error);
  return { ended, tookMs: performance.now() - before };
}

beforeAll(async () => {
  folder = await mkdtemp("/var/tmp/caisson-hostile-");
  neighbours = await openTestCaisson();
  alive = await Promise.all(
    Array.from({ length: 10 }, () => neighbours.caisson.createSandbox({ engine: "container", ...small })),
  );
  silent = new Map(engines.map((engine) => [engine, trySilence(engine)]));
});
afterAll(async () => {
  await Promise.all(silent.values());
  await Promise.all(alive.map((sandbox) => sandbox.destroy()));
  await neighbours[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

describe.each(engines)("a hostile guest (%s)", (engine) => {
  it.each(Object.entries(modes))(
    "that sends %s ends its own sandbox, with that reason, and ten neighbours notice nothing",
    async (_what, { mode, reason }) => {
      const busy = alive.map((sandbox) =>
        sandbox.exec({ command: "for i in 1 2 3 4 5; do echo $i; done", trackFiles: false }),
      );
      expect(await tryGuest(engine, mode)).toMatchObject({
        code: "unavailable",
        message: expect.stringMatching(reason),
      });
      for (const result of await Promise.all(busy))
        expect(result).toMatchObject({ exit_code: 0, stdout: "1\n2\n3\n4\n5\n" });
    },
  );

  it("that ends at once is told as such", async () => {
    expect(await tryGuest(engine, 10)).toMatchObject({ code: "unavailable" });
  });

  it("[SBX-01] that says nothing is given up after its time, without holding anything", async () => {
    expect(await silent.get(engine)).toMatchObject({ ended: { message: expect.stringMatching(/did not answer/) } });
    expect((await silent.get(engine))?.tookMs).toBeGreaterThan(wireLimits.helloTimeoutMs - 100);
  }, 60_000);
});

describe("a taken-over guest", () => {
  it("cannot freeze its owner by making its descriptors blocking (hazard 4)", async () => {
    const home = join(folder, "home");
    await using caisson = openCaisson({ home, root, guestPath: await guestOf(8) });
    await using sandbox = await caisson.createSandbox({ engine: "container", ...small });
    // It reads nothing any more: fill its FIFO far past what a pipe holds; a shared description would now block us.
    const write = sandbox.files.write("x", Buffer.alloc(4 * 1024 ** 2)).catch((error: unknown) => error);
    const lost = Array.from({ length: 60 }, (_, i) =>
      sandbox.files.write(`y${i}`, Buffer.alloc(64 * 1024)).catch((error: unknown) => error),
    );
    const ticked = await new Promise((resolve) => setTimeout(() => resolve("ticked"), 50));
    expect(ticked).toBe("ticked");
    await sandbox.destroy();
    expect(await write).toMatchObject({ code: "unavailable" });
    for (const error of await Promise.all(lost)) expect(error).toMatchObject({ code: "unavailable" });
  });
});

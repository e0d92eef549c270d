import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Caisson } from "../../packages/server/src/app.ts";
import { engines } from "../harness.ts";
import { findLeaks, killProcessesOf, processesOf } from "../leaks.ts";
import { openTestEngineServer, type TestEngineServer } from "./engine-server.ts";

const limits = { memoryBytes: 64 * 1024 ** 2, storageBytes: 16 * 1024 ** 2 };

describe.each(engines)("an engine behind its socket (%s)", (engine) => {
  let test: TestEngineServer;
  beforeAll(async () => {
    test = await openTestEngineServer();
  });
  afterAll(async () => {
    await test[Symbol.asyncDispose]();
  });

  it("[SBX-19] makes a sandbox, tells what a run changed, and destroys it", async () => {
    await using caisson = await test.open();
    await using sandbox = await caisson.createSandbox({ engine, limits });
    const result = await sandbox.exec({ command: "echo words | tee note" });
    expect(result).toMatchObject({ stdout: "words\n", exit_code: 0 });
    expect(result.files_changed).toMatchObject([{ path: "note", action: "created" }]);
    expect((await sandbox.stats()).processes).toBeGreaterThan(0);
    await sandbox.pause();
    await sandbox.resume();
    expect((await sandbox.exec({ command: "cat note" })).stdout).toBe("words\n");
    await sandbox.destroy();
    expect(findLeaks(test.home)).toEqual([]);
  });

  it("[SBX-16] [SBX-19] leaves what was kept to the next daemon, and destroys what was not", async () => {
    let id: string;
    let name: string;
    let ephemeral: string;
    {
      const client = await test.connect();
      const caisson = new Caisson({ home: test.home, root: "", engines: client });
      const sandbox = await caisson.createSandbox({ engine, limits, keep: true });
      id = sandbox.id;
      await sandbox.files.write("note", "kept");
      name = (await sandbox.processes.start({ command: "read word; exit 5", stdin: true })).id;
      ephemeral = (await caisson.createSandbox({ engine, limits })).id;
      await client[Symbol.asyncDispose](); // as if it had died: nothing was said before
      await expect(sandbox.stats()).rejects.toMatchObject({ code: "unavailable" });
    }
    await using next = await test.open();
    expect(processesOf(ephemeral)).toEqual([]);
    expect(await next.keptSandboxes()).toMatchObject([{ id, engine, state: "running" }]);
    await using sandbox = await next.attachSandbox(id);
    expect((await sandbox.exec({ command: "cat note" })).stdout).toBe("kept");
    await sandbox.processes.get(name).write("word\n");
    expect(await sandbox.processes.get(name).wait()).toMatchObject({ exit_code: 5 });
    await sandbox.destroy();
    expect(findLeaks(test.home)).toEqual([]);
  });

  it("[SBX-19] freezes the volume of a sandbox, and knows layers by their ids alone", async () => {
    await using client = await test.connect();
    const remote = await client.open(engine);
    const spec = { limits: { ...limits, cpus: 1, cpuShares: 1024, processes: 16 } };
    const made = await remote.create({ ...spec, keep: true });
    const exit = remote.waitExit(made.id);
    const layer = await remote.freeze(made.id, { keep: true });
    expect(await exit).toContain("frozen");
    await expect(remote.stats(made.id)).rejects.toMatchObject({ code: "not_found" });
    const copy = await remote.create({ ...spec, base: layer.id });
    expect(await remote.layers()).toMatchObject([{ id: layer.id, uses: 2 }]);
    expect(JSON.stringify([await remote.layers(), layer])).not.toContain(test.home);
    const running = await remote.freeze(copy.id, { keep: true, copy: true });
    expect((await remote.stats(copy.id)).processes).toBeGreaterThan(0);
    await expect(remote.removeLayer(layer.id)).rejects.toMatchObject({ code: "conflict" });
    for (const { id } of [copy, made]) await remote.destroyKept(id);
    for (const { id } of [running, layer]) await remote.removeLayer(id);
    expect(await remote.layers()).toEqual([]);
  });

  it("[SBX-07] [SBX-19] names no path in an answer, and counts by a verb what the memory limit has ended", async () => {
    await using client = await test.connect();
    const spec = { limits: { ...limits, cpus: 1, cpuShares: 1024, processes: 16 } };
    const made = await client.request("create", { engine, spec });
    expect(JSON.stringify(made)).not.toContain("/");
    expect(await client.request("oomKills", { engine, id: made.id })).toBe(0);
    await client.request("destroy", { engine, id: made.id });
    const caisson = new Caisson({ home: test.home, root: "", engines: client });
    await using sandbox = await caisson.createSandbox({ engine, limits });
    expect(await sandbox.exec({ command: "tail /dev/zero" })).toMatchObject({ oom_killed: true });
    expect(await sandbox.exec({ command: "echo alive" })).toMatchObject({ oom_killed: false, stdout: "alive\n" });
  });

  it("[SBX-19] tells of a sandbox's end, and of what happens to its files", async () => {
    await using caisson = await test.open();
    await using sandbox = await caisson.createSandbox({ engine, limits });
    await using watch = await sandbox.files.watch(".");
    await sandbox.files.write("seen", "x");
    // A look between the writing and the naming of a file sees it under another name first.
    for await (const { path } of watch) if (path === "seen") break;
    killProcessesOf(sandbox.id);
    expect(await sandbox.lost).toContain("ended");
  });
});

describe("the engine's socket", () => {
  it("[SBX-19] serves one daemon at a time, and the next when that one is gone", async () => {
    await using test = await openTestEngineServer();
    const first = await test.connect();
    await expect(test.connect()).rejects.toMatchObject({ code: "conflict" });
    expect(await first.kept()).toEqual([]);
    await first[Symbol.asyncDispose]();
    await expect(first.kept()).rejects.toMatchObject({ code: "unavailable" });
    await using second = await test.connect();
    expect(await second.kept()).toEqual([]);
  });

  it("[SBX-19] that is lost fails everything that waits", async () => {
    const test = await openTestEngineServer();
    const client = await test.connect();
    const asked = [client.kept(), client.probe()].map((answer) => answer.catch((error: unknown) => error));
    await test[Symbol.asyncDispose]();
    for (const answer of await Promise.all(asked))
      if (answer instanceof Error) expect(answer).toMatchObject({ code: "unavailable" });
    expect(await client.lost).toMatchObject({ code: "unavailable" });
    await expect(client.searchPath()).rejects.toMatchObject({ code: "unavailable" });
    await rm(test.home, { recursive: true, force: true });
  });

  it("[SBX-19] takes no folder of the host by its path", async () => {
    await using test = await openTestEngineServer();
    await using caisson = await test.open();
    const refused = caisson.createSandbox({ engine: "container", limits, inputFolder: "/etc" });
    await expect(refused).rejects.toMatchObject({ code: "unsupported" });
  });
});

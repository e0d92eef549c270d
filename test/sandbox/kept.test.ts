import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCaisson } from "../../packages/server/src/app.ts";
import { wireLimits } from "../../packages/server/src/wire/limits.ts";
import { engines, openTestCaisson, root, type TestCaisson } from "../harness.ts";
import { findLeaks, killProcessesOf, processesOf } from "../leaks.ts";
import { Owner } from "./owner.ts";

const limits = { memoryBytes: 64 * 1024 ** 2, storageBytes: 16 * 1024 ** 2 };

describe.each(engines)("a kept sandbox (%s)", (engine) => {
  let test: TestCaisson;
  beforeAll(async () => {
    test = await openTestCaisson();
  });
  afterAll(async () => {
    await test[Symbol.asyncDispose]();
  });

  it("[SBX-16] [EXE-03] lives on when its owner detaches, with its files and processes, until it is destroyed", async () => {
    let id: string;
    let name: string;
    {
      await using first = openCaisson({ home: test.home, root });
      await using sandbox = await first.createSandbox({ engine, limits, keep: true });
      id = sandbox.id;
      await sandbox.files.write("note", "kept");
      name = (await sandbox.processes.start({ command: "read word; echo $word; exit 5", stdin: true })).id;
    }
    expect(processesOf(id).length).toBeGreaterThan(0);
    expect(await test.caisson.keptSandboxes()).toMatchObject([{ id, engine, state: "running" }]);
    await using sandbox = await test.caisson.attachSandbox(id);
    expect(sandbox).toMatchObject({ id, engine, kept: true, limits, paused: false, notEnforced: [] });
    expect((await sandbox.exec({ command: "cat note" })).stdout).toBe("kept");
    const process = sandbox.processes.get(name);
    await process.write("word\n");
    expect(await process.wait()).toMatchObject({ exit_code: 5 });
    await sandbox.exec({ command: "echo more > note" }).then(({ files_changed }) => {
      expect(files_changed).toMatchObject([{ path: "note", action: "modified" }]);
    });
    await sandbox.destroy();
    expect(await test.caisson.keptSandboxes()).toEqual([]);
    expect(findLeaks(test.home)).toEqual([]);
    await expect(test.caisson.attachSandbox(id)).rejects.toMatchObject({ code: "not_found" });
  });

  it("[SBX-16] has one owner at a time: another is refused until the first one is gone", async () => {
    await using owner = new Owner(test.home);
    const id = await owner.ask<string>({ ask: "create", engine });
    const refused = { code: "conflict", hint: expect.stringContaining("detaches") };
    await Promise.all([
      expect(test.caisson.attachSandbox(id)).rejects.toMatchObject(refused),
      expect(test.caisson.destroySandbox(id)).rejects.toMatchObject(refused),
    ]);
    const name = await owner.ask<string>({ ask: "start", id, command: "exit 4" });
    expect(await owner.ask({ ask: "wait", id, process: name })).toMatchObject({ exit_code: 4 });
    await owner.kill();
    await using sandbox = await test.caisson.attachSandbox(id);
    await expect(test.caisson.attachSandbox(id)).rejects.toMatchObject(refused);
    expect(await sandbox.processes.get(name).wait()).toMatchObject({ exit_code: 4 });
    await sandbox.destroy();
  });

  it("[SBX-16] [EXE-03] input that its dead owner closed stays closed, and a start it did not confirm leaves nothing", async () => {
    await using owner = new Owner(test.home);
    const id = await owner.ask<string>({ ask: "create", engine });
    const name = await owner.ask<string>({ ask: "start", id, command: "cat; sleep 1000", stdin: true });
    await owner.ask({ ask: "write", id, process: name, text: "words\n" });
    await owner.ask({ ask: "closeInput", id, process: name });
    void owner.ask({ ask: "start", id, command: "sleep 2000" });
    await owner.kill();
    await using sandbox = await test.caisson.attachSandbox(id);
    const process = sandbox.processes.get(name);
    expect(await process.write("more")).toBe(false);
    for await (const { data } of process.output()) {
      expect(data.toString()).toBe("words\n");
      break;
    }
    expect(process.info().state).toBe("running");
    const known = sandbox.processes.list().map(({ command }) => command.at(-1));
    const count = `for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null | grep -cx 'sleep 2000 ' || true`;
    const running = (await sandbox.exec({ command: count })).stdout;
    expect([known.length, running]).toEqual(known.includes("sleep 2000") ? [2, "1\n"] : [1, "0\n"]);
    await sandbox.destroy();
  });

  it("[SBX-16] that has ended stays listed, cannot be attached to, and is destroyed", async () => {
    let id: string;
    {
      await using first = openCaisson({ home: test.home, root });
      id = (await first.createSandbox({ engine, limits, keep: true })).id;
    }
    await using other = openCaisson({ home: test.home, root });
    killProcessesOf(id);
    while (processesOf(id).length > 0) await sleep(10);
    // Whoever inherits what was killed may take a moment to reap it.
    await expect.poll(() => other.keptSandboxes()).toMatchObject([{ id, state: "ended" }]);
    await expect(other.attachSandbox(id)).rejects.toMatchObject({ code: "unavailable" });
    await using _ = await other.createSandbox({ engine, limits }); // reaps, and leaves it alone
    expect(await other.keptSandboxes()).toMatchObject([{ id, state: "ended" }]);
    await other.destroySandbox(id);
    expect(await other.keptSandboxes()).toEqual([]);
  });

  it("[SBX-16] whose guest hangs is destroyed by force", async () => {
    let id: string;
    {
      await using first = openCaisson({ home: test.home, root });
      const sandbox = await first.createSandbox({ engine, limits, keep: true });
      id = sandbox.id;
      await sandbox.processes.start({ command: "sleep 1000" });
    }
    for (const pid of processesOf(id)) process.kill(pid, "SIGSTOP");
    await test.caisson.destroySandbox(id);
    expect(findLeaks(test.home)).toEqual([]);
  });
});

describe("kept sandboxes", () => {
  it("[SBX-16] one with a damaged record is reported, left alone and destroyed when asked; the others go on", async () => {
    await using test = await openTestCaisson();
    const ids: string[] = [];
    {
      await using first = openCaisson({ home: test.home, root });
      for (let i = 0; i < 2; i++) ids.push((await first.createSandbox({ engine: "container", limits, keep: true })).id);
    }
    const [bad = "", good = ""] = ids;
    const path = join(test.home, "engine/sandboxes", bad, "record.json");
    await writeFile(path, (await readFile(path, "utf8")).replace(/"version":\d+/, '"version":7'));
    const errors: unknown[] = [];
    await using caisson = openCaisson({ home: test.home, root, onError: (error) => errors.push(error) });
    expect(await caisson.keptSandboxes()).toMatchObject([{ id: good, state: "running" }]);
    expect(String(errors)).toContain(`the record of sandbox ${bad} is damaged`);
    await expect(caisson.attachSandbox(bad)).rejects.toThrow(/damaged/);
    const sandbox = await caisson.attachSandbox(good);
    expect((await sandbox.exec({ command: "echo well" })).stdout).toBe("well\n");
    expect(processesOf(bad).length).toBeGreaterThan(0);
    await sandbox.destroy();
    await caisson.destroySandbox(bad);
    await expect(caisson.destroySandbox(bad)).rejects.toMatchObject({ code: "not_found" });
    await expect(caisson.destroySandbox("../../etc")).rejects.toMatchObject({ code: "not_found" });
  });

  it("[SBX-16] an ephemeral one ends with its owner's last ping, a kept one does not; the next caisson reaps", async () => {
    await using test = await openTestCaisson();
    await using owner = new Owner(test.home);
    const kept = await owner.ask<string>({ ask: "create", engine: "container" });
    const ephemeral = await Promise.all(
      engines.map((engine) => owner.ask<string>({ ask: "create", engine, keep: false })),
    );
    await owner.kill();
    const deadline = Date.now() + 3 * wireLimits.leaseMs;
    while (ephemeral.some((id) => processesOf(id).length > 0) && Date.now() < deadline) await sleep(100);
    expect(ephemeral.flatMap(processesOf)).toEqual([]);
    expect(processesOf(kept).length).toBeGreaterThan(0);
    await using sandbox = await test.caisson.attachSandbox(kept);
    const folders = findLeaks(test.home).filter((leak) => leak.startsWith("folder"));
    expect(folders).toEqual([`folder ${kept}`]);
    await expect(test.caisson.attachSandbox(ephemeral[0] ?? "")).rejects.toMatchObject({ code: "not_found" });
    await sandbox.destroy();
  });
});

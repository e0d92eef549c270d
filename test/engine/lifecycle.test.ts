import { spawn } from "node:child_process";
import { chownSync, statSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { findLeaks, killProcessesOf, processesOf } from "../leaks.ts";
import { engineNames, limits, makeHome, openEngine, Puppet } from "./fixture.ts";

async function startOwner(name: string, home: string, puppetPath: string) {
  const script = join(import.meta.dirname, "owner.ts");
  const owner = spawn(process.execPath, [script, name, home, puppetPath], { stdio: ["ignore", "pipe", "inherit"] });
  const id = await new Promise<string>((resolve) => owner.stdout.once("data", (text) => resolve(String(text).trim())));
  return { owner, id };
}

describe("the engine's own folder", () => {
  it("can be passed through and not listed or written, and is refused when it is another's (hazard 3)", async () => {
    await using home = await makeHome();
    {
      await using _engine = await openEngine("container", home);
    }
    const folder = join(home.home, "engine");
    expect(statSync(folder)).toMatchObject({ uid: 0, mode: 0o40711 });
    chownSync(folder, 4242, 4242);
    await expect(openEngine("container", home)).rejects.toMatchObject({ code: "forbidden" });
  });
});

describe.each(engineNames)("a sandbox of engine %s", (name) => {
  it("leaves nothing behind when it is destroyed", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const { id } = await engine.create({ limits });
    expect(processesOf(id).length).toBeGreaterThan(0);
    await engine.destroy(id);
    await engine.destroy(id);
    expect(findLeaks(home.home)).toEqual([]);
  });

  it("leaves nothing behind when ten are made and the engine is closed", async () => {
    await using home = await makeHome();
    const engine = await openEngine(name, home);
    const ids = await Promise.all(Array.from({ length: 10 }, async () => (await engine.create({ limits })).id));
    expect(new Set(ids).size).toBe(10);
    await engine[Symbol.asyncDispose]();
    expect(findLeaks(home.home)).toEqual([]);
  });

  it("reports every containment as enforced on this host", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const { notEnforced } = await engine.create({ limits });
    expect(notEnforced).toEqual([]);
  });

  it.each([
    ["the runtime does not exist", { runtimePath: "/nonexistent/runtime" }],
    ["the runtime fails", { runtimePath: "/bin/false" }],
    ["the guest does not exist", { guestPath: "/nonexistent/guest" }],
    ["the guest is no program", { guestPath: "/etc/passwd" }],
  ])("[SBX-17] leaves nothing behind when %s (hazard 31)", async (_, options) => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home, options);
    await expect(engine.create({ limits })).rejects.toMatchObject({ name: "AppError" });
    expect(findLeaks(home.home)).toEqual([]);
  });

  it("says what the runtime said when it fails", async () => {
    await using home = await makeHome();
    const noProgram = join(home.home, "text");
    await writeFile(noProgram, "no program");
    await chmod(noProgram, 0o644);
    await using engine = await openEngine(name, home, { guestPath: noProgram });
    await expect(engine.create({ limits })).rejects.toThrow(/permission denied/i);
  });

  it("outlives its killed owner until the next engine of the home removes it", async () => {
    await using home = await makeHome();
    const { owner, id } = await startOwner(name, home.home, home.puppetPath);
    const dead = new Promise((resolve) => owner.once("exit", resolve));
    owner.kill("SIGKILL");
    await dead;
    expect(processesOf(id).length).toBeGreaterThan(0);
    await sleep(100);
    await using _ = await openEngine(name, home);
    expect(findLeaks(home.home)).toEqual([]);
  });

  it("is not touched by a second engine of the home while its owner lives", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const sandbox = await engine.create({ limits });
    await using _ = await openEngine(name, home);
    using puppet = new Puppet(sandbox);
    expect(await puppet.run("1 + 1")).toBe(2);
  });

  it("says how it ended when its process is killed from outside", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const { id } = await engine.create({ limits });
    const exit = engine.waitExit(id);
    killProcessesOf(id);
    // A sentry whose gofer is killed first ends by itself.
    expect(await exit).toMatch(name === "container" ? /signal 9/ : /signal 9|code \d+/);
  });

  it("stands still while paused and goes on when resumed", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const sandbox = await engine.create({ limits });
    using puppet = new Puppet(sandbox);
    await puppet.run("import time");
    await engine.pause(sandbox.id);
    const before = (await engine.stats(sandbox.id)).cpuMs;
    const answer = puppet.run("time.time()");
    await sleep(300);
    expect((await engine.stats(sandbox.id)).cpuMs - before).toBeLessThanOrEqual(1);
    await engine.resume(sandbox.id);
    expect(await answer).toBeTypeOf("number");
  });

  it("is destroyed while paused", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const { id } = await engine.create({ limits });
    await engine.pause(id);
    await engine.destroy(id);
    expect(findLeaks(home.home)).toEqual([]);
  });
});

import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileEvent, FileWatch, WatchOptions } from "../../packages/server/src/core/watch.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, seed, type TestCaisson } from "../harness.ts";
import { mustRun } from "./must-run.ts";

describe.each(engines)("watch (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;

  const shell = (command: string) => mustRun(sandbox, command);

  /**
   * What is told up to two files that are made last of all, and whose names are the last in order. Two, since a look is no
   * instant: one that saw the first may have passed elsewhere before, but one that saw the second began after the first.
   */
  async function eventsOf(command: string, path = "", options: WatchOptions = {}): Promise<FileEvent[]> {
    const folder = path || ".";
    await shell(`rm -f ${folder}/zzz ${folder}/zzzz`);
    await using watch = await sandbox.files.watch(path, options);
    await shell(command);
    await shell(`touch ${folder}/zzz`);
    const events: FileEvent[] = [];
    for await (const event of watch) {
      if (event.path === "zzzz") break;
      if (event.path === "zzz" && event.type === "created") await shell(`touch ${folder}/zzzz`);
      if (event.path !== "zzz") events.push(event);
    }
    return events;
  }

  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 256 * 1024 ** 2 } });
    await sandbox.files.write("odd-tree.py", await readFile(join(import.meta.dirname, "odd-tree.py")));
  });
  afterAll(async () => {
    await sandbox?.destroy();
    await test[Symbol.asyncDispose]();
  });

  it("[FIL-03] tells of what is created, changed, moved and deleted", async () => {
    await shell("mkdir -p a/b; echo 1 > a/one; echo 2 > a/two; echo 3 > a/three; ln -s one a/link");
    const changed = [{ type: "changed", path: "a/one" }];
    expect(merged(await eventsOf("echo more >> a/one"))).toEqual(changed);
    expect(merged(await eventsOf("echo new > a/new; mkdir a/c; ln -s x a/soft"))).toEqual([
      { type: "created", path: "a/c" },
      { type: "created", path: "a/new" },
      { type: "created", path: "a/soft" },
    ]);
    expect(merged(await eventsOf("mv a/two a/b/2"))).toEqual([{ type: "moved", path: "a/b/2", from: "a/two" }]);
    expect(merged(await eventsOf("rm a/three a/link; rmdir a/c"))).toEqual([
      { type: "deleted", path: "a/c" },
      { type: "deleted", path: "a/link" },
      { type: "deleted", path: "a/three" },
    ]);
    expect(merged(await eventsOf("chmod 700 a/one"))).toEqual(changed);
  });

  it("[FIL-03] a folder moves with what is in it, and a file that replaces another is a change", async () => {
    await shell(
      "rm -rf m; mkdir -p m/d/e; echo 1 > m/d/e/f; echo 2 > m/d/g; echo old > m/h; echo 4 > m/i; echo 5 > m/j",
    );
    expect(merged(await eventsOf("mv m/d m/k"))).toEqual([{ type: "moved", path: "m/k", from: "m/d" }]);
    expect(await eventsOf("echo new > m/tmp; mv m/tmp m/h")).toContainEqual(
      expect.objectContaining({ type: expect.stringMatching(/^(changed|moved)$/), path: "m/h" }),
    );
    // Names that change places are no moves that could be told one after the other.
    const exchanged = await eventsOf("mv m/i /dev/shm/i; mv m/j m/i; mv /dev/shm/i m/j; echo 4 > m/j");
    expect(new Set(exchanged.map((event) => event.path))).toEqual(new Set(["m/i", "m/j"]));
  });

  it("[FIL-03] tells of one folder only, and not of those below unless asked", async () => {
    await shell("rm -rf n; mkdir -p n/in/deep away; echo 1 > n/in/a; echo 2 > away/b");
    const command = "echo x > n/side; echo x > n/in/deep/x; echo x > n/in/y; mv away/b n/in/b; mv n/in/a away/a";
    expect(merged(await eventsOf(command, "n/in"))).toEqual([
      { type: "deleted", path: "a" },
      { type: "created", path: "b" },
      { type: "created", path: "deep/x" },
      { type: "created", path: "y" },
    ]);
    await shell("rm -rf n; mkdir -p n/in/deep; echo 1 > n/in/a; echo 2 > away/b");
    const flat = merged(await eventsOf(command, "/workspace/n/in/", { recursive: false }));
    expect(flat.map((event) => event.path)).toEqual(["a", "b", "y"]);
    await expect(sandbox.files.watch("/etc")).rejects.toMatchObject({ code: "forbidden" });
    await expect(sandbox.files.watch("n/../..")).rejects.toMatchObject({ code: "invalid" });
  });

  it("[FIL-03] whoever follows the events knows a thousand files of odd names and kinds", async () => {
    await shell("rm -rf odd && mkdir odd");
    const events = await eventsOf(
      `python3 odd-tree.py make odd 1000 && mv odd/f2 odd/moved && rm -rf odd/f3 && python3 odd-tree.py shuffle odd ${seed}`,
    );
    const known = new Set<string>();
    for (const event of events) replay(known, event);
    const rows = await sandbox.files.list("odd", { recursive: true });
    const real = rows.filter((row) => row.type !== "other").map((row) => `odd/${row.name}`);
    for (const special of ["odd/fifo", "odd/socket"]) known.delete(special); // gVisor keeps those to itself
    expect([...known].sort()).toEqual(real.sort());
    expect(events.filter((event) => event.type === "overflow")).toEqual([]);
  });

  it("[FIL-03] more than can be told is an overflow, and the watch goes on", async () => {
    await shell(`rm -rf many && mkdir many && cd many && echo x > f && python3 -c '
import os
for i in range(5100): os.link("f", str(i))' && chmod 000 .`);
    await using watch = await sandbox.files.watch();
    await shell("chmod 755 many");
    const types: string[] = [];
    for await (const event of watch) {
      types.push(event.type);
      if (event.type === "overflow") await shell("touch many/after");
      if (event.path === "many/after") break;
    }
    expect(types).toEqual(["overflow", "created"]);
    await shell("rm -rf many");
  });

  it("[FIL-03] more than can be compared in reasonable time is an overflow", async () => {
    await shell(`rm -rf deep && mkdir deep && python3 -c '
import os
os.chdir("deep")
for i in range(110):
    os.mkdir("d")
    os.chdir("d")
open("f", "w").close()
for i in range(2000): os.link("f", str(i))'`);
    await using watch = await sandbox.files.watch();
    await shell("mv deep deeper");
    for await (const event of watch) {
      expect(event.type).toBe("overflow");
      break;
    }
    await shell("rm -rf deeper");
  });

  it("[FIL-03] four watches of a sandbox at once, and another when one has gone", async () => {
    const watches: FileWatch[] = [];
    for (let i = 0; i < 4; i++) watches.push(await sandbox.files.watch());
    await expect(sandbox.files.watch()).rejects.toMatchObject({ code: "limit_exceeded" });
    await watches.pop()?.[Symbol.asyncDispose]();
    watches.push(await sandbox.files.watch());
    for (const watch of watches) await watch[Symbol.asyncDispose]();
  });

  it("[FIL-03] a watch whose helper ends before the sandbox says that it was lost", async () => {
    const before = followers(); // some may be about to leave
    await using watch = await sandbox.files.watch();
    const lost = (async () => {
      for await (const _ of watch);
    })();
    lost.catch(() => undefined);
    const [own = 0, ...more] = followers().filter((pid) => !before.includes(pid));
    expect(more).toEqual([]);
    process.kill(own, "SIGKILL");
    await expect(lost).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("the watch was lost"),
    });
  });

  it("[FIL-03] a watch ends with its sandbox", async () => {
    const other = await test.caisson.createSandbox({ engine, limits: { storageBytes: 64 * 1024 ** 2 } });
    const watch = await other.files.watch();
    const made = other.files.mkdir("x");
    const all = (async () => {
      const seen: string[] = [];
      for await (const event of watch) {
        seen.push(event.path);
        if (event.path !== "x") continue;
        await made; // its event may come before its own reply
        void other.destroy();
      }
      return seen;
    })();
    expect(await all).toEqual(["x"]);
    await other.destroy();
    await expect(other.files.watch()).rejects.toMatchObject({ code: "not_found" });
  });
});

function followers(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter(isFollower);
}

/** A process of this test's own helper that has given up root: the one that looks. */
function isFollower(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const parent = Number(/^PPid:\s*(\d+)/m.exec(status)?.[1]);
    const isHelper = (text: string) => text.startsWith("Name:\tcaisson-helper\n");
    if (!isHelper(status) || /^Uid:\s*0\b/m.test(status)) return false;
    const owner = readFileSync(`/proc/${parent}/status`, "utf8");
    return isHelper(owner) && Number(/^PPid:\s*(\d+)/m.exec(owner)?.[1]) === process.pid;
  } catch {
    return false; // ended meanwhile
  }
}

/** One event a path, the first: a file that is made may be seen empty, and then again with what is written to it. */
function merged(events: FileEvent[]): FileEvent[] {
  const first = new Map<string, FileEvent>();
  for (const event of events) if (!first.has(event.path)) first.set(event.path, event);
  return [...first.values()].sort((a, b) => a.path.localeCompare(b.path));
}

/** A folder that moves takes along what is in it. */
function replay(known: Set<string>, event: FileEvent): void {
  if (event.type === "created" || event.type === "changed") known.add(event.path);
  if (event.type === "deleted") known.delete(event.path);
  if (event.type !== "moved" || event.from === undefined) return;
  for (const path of [...known])
    if (path === event.from || path.startsWith(`${event.from}/`)) {
      known.delete(path);
      known.add(event.path + path.slice(event.from.length));
    }
  known.add(event.path);
}

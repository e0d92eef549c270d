import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileEvent, FileWatch, WatchOptions } from "../../packages/server/src/core/watch.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

describe.each(engines)("watch (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;

  async function shell(command: string): Promise<string> {
    const result = await sandbox.exec({ command });
    if (result.exit_code !== 0) throw new Error(`${command}: ${result.stderr}`);
    return result.stdout;
  }

  /** What is told up to a file that is made last of all. */
  async function eventsOf(command: string, path = "", options: WatchOptions = {}): Promise<FileEvent[]> {
    await shell(`rm -f ${path || "."}/last`);
    await using watch = await sandbox.files.watch(path, options);
    await shell(command);
    await shell(`touch ${path || "."}/last`);
    return await upToLast(watch);
  }
  async function upToLast(watch: FileWatch): Promise<FileEvent[]> {
    const events: FileEvent[] = [];
    for await (const event of watch) {
      if (event.path === "last") break;
      events.push(event);
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
    expect(await eventsOf("echo more >> a/one")).toEqual([{ type: "changed", path: "a/one" }]);
    expect(await eventsOf("echo new > a/new; mkdir a/c")).toEqual([
      { type: "created", path: "a/c" },
      { type: "created", path: "a/new" },
    ]);
    expect(await eventsOf("mv a/two a/b/2")).toEqual([{ type: "moved", path: "a/b/2", from: "a/two" }]);
    expect(await eventsOf("rm a/three a/link; rmdir a/c")).toEqual([
      { type: "deleted", path: "a/three" },
      { type: "deleted", path: "a/link" },
      { type: "deleted", path: "a/c" },
    ]);
    expect(await eventsOf("chmod 700 a/one")).toEqual([{ type: "changed", path: "a/one" }]);
  });
});

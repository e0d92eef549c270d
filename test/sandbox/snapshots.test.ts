import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { restoreTree, takeTree } from "../../packages/server/src/sandboxes/take-tree.ts";
import { FileBlobs } from "../../packages/server/src/store/blobs.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";
import { mustRun } from "./must-run.ts";

describe.each(engines)("trees of a workspace (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  let blobs: FileBlobs;

  const shell = (command: string) => mustRun(sandbox, command);
  const take = () => takeTree(blobs, sandbox.files, async () => undefined);
  const restore = (manifest: string) => restoreTree(blobs, sandbox.files, manifest);
  /** What the sandbox's own Python says of every name. */
  const told = async () => (await shell("python3 /workspace/told.py /workspace")).split("\n");

  beforeAll(async () => {
    test = await openTestCaisson();
    blobs = await FileBlobs.open(join(test.home, "blobs"));
    sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 64 * 1024 ** 2 } });
    for (const name of ["odd-tree.py", "told.py"])
      await sandbox.files.write(name, await readFile(join(import.meta.dirname, name)));
  });
  afterAll(async () => {
    await sandbox?.destroy();
    await test[Symbol.asyncDispose]();
  });

  it("[LIF-09] a tree of odd names, kinds and modes comes back as it was", async () => {
    await shell("mkdir odd && python3 odd-tree.py make odd 300");
    const before = await told();
    const { manifest, summary } = await take();
    expect(summary).toMatchObject({ skipped: 2, unreadable: 0, changed: 0 });
    for (const seed of [1, 2, 3]) {
      await shell(
        `python3 odd-tree.py shuffle odd ${seed}; chmod -R u+rwX odd; find odd -type f | head -5 | while read f; do echo x >> "$f"; done; true`,
      );
      expect(await told()).not.toEqual(before);
      await restore(manifest);
      expect(await told()).toEqual(before);
    }
    await shell("chmod -R u+rwX odd; rm -rf odd");
    await restore(manifest);
    expect(await told()).toEqual(before);
  });
});

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AppError } from "../../packages/server/src/core/errors.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { restoreTree, takeTree } from "../../packages/server/src/sandboxes/take-tree.ts";
import { FileBlobs } from "../../packages/server/src/store/blobs.ts";
import { engines, openTestCaisson, seed, soak, type TestCaisson } from "../harness.ts";
import { mustRun } from "./must-run.ts";

/** As test/sandbox/tree-ops.py takes it. */
const parts = fc.array(fc.nat(11), { minLength: 1, maxLength: 4 });
const kinds = ["file", "sparse", "change", "folder", "link", "hard", "move", "remove", "mode", "time"] as const;
const step = fc.tuple(fc.constantFrom(...kinds), parts, parts, fc.nat(5), fc.nat(1_000_000));
const making = step.filter(([kind]) => !["change", "move", "remove", "mode", "time"].includes(kind));

const inside = createHash("sha256").update("inside\n").digest("hex");

/** Now a folder, now a link to one outside of the workspace. */
const swapper = `
import os
os.chdir("/workspace")
while True:
    try:
        os.rename("d", "aside")
        os.symlink("/tmp/victim", "d")
        os.unlink("d")
        os.rename("aside", "d")
    except OSError:
        pass
`;

describe.each(engines)("trees of a workspace (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  let blobs: FileBlobs;

  const shell = (command: string) => mustRun(sandbox, command);
  const take = () => takeTree(blobs, sandbox.files, async () => undefined);
  const restore = (manifest: string) => restoreTree(blobs, sandbox.files, manifest);
  /** What the sandbox's own Python says of every name. */
  const told = async () => (await shell("python3 /tmp/told.py /workspace")).split("\n");
  const empty = () => shell("chmod -R u+rwX /workspace; find /workspace -mindepth 1 -delete");

  beforeAll(async () => {
    test = await openTestCaisson();
    blobs = await FileBlobs.open(join(test.home, "blobs"));
    sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 64 * 1024 ** 2 } });
    await shell("rmdir output"); // trees begin with nothing
    for (const name of ["odd-tree.py", "told.py", "tree-ops.py"]) {
      await sandbox.files.write(name, await readFile(join(import.meta.dirname, name)));
      await shell(`mv ${name} /tmp/`);
    }
  });
  afterAll(async () => {
    await sandbox?.destroy();
    await test[Symbol.asyncDispose]();
  });

  it("[LIF-09] a tree of odd names, kinds and modes comes back as it was, also after all is gone", async () => {
    await shell("mkdir odd && python3 /tmp/odd-tree.py make odd 200");
    const before = await told();
    const { manifest, summary } = await take();
    expect(summary).toMatchObject({ skipped: 2, unreadable: 0, changed: 0 });
    await shell("chmod -R u+rwX odd; python3 /tmp/odd-tree.py shuffle odd 1");
    expect(await told()).not.toEqual(before);
    await restore(manifest);
    expect(await told()).toEqual(before);
    await empty();
    await restore(manifest);
    expect(await told()).toEqual(before);
    await empty();
  });

  it("[LIF-09] any tree comes back from any other: bytes, modes, links, hard links, times", async () => {
    const run = async (steps: unknown[]) => {
      await sandbox.files.write("/workspace/.steps", JSON.stringify(steps));
      await shell("mv .steps /tmp/steps; python3 /tmp/tree-ops.py /workspace /tmp/steps");
    };
    const trees = fc.tuple(
      fc.array(making, { minLength: 5, maxLength: 30 }),
      fc.array(step, { maxLength: 20 }),
      fc.array(step, { minLength: 1, maxLength: 30 }),
    );
    await fc.assert(
      fc.asyncProperty(trees, async ([first, more, then]) => {
        await run([...first, ...more]);
        const before = await told();
        const { manifest } = await take();
        await run(then);
        await restore(manifest);
        expect(await told()).toEqual(before);
        expect(await restore(manifest)).toEqual({ removed: 0, written: 0, changed: 0, writtenBytes: 0 });
        await empty();
      }),
      { numRuns: soak ? 300 : 4, seed, endOnFailure: true },
    );
  });

  it("[LIF-09] a second snapshot stores what is new, and a restore writes what is different", async () => {
    await shell(
      "for i in $(seq 100); do head -c 20000 /dev/urandom > f$i; done; head -c 16000000 /dev/urandom > large",
    );
    const first = await take();
    expect(first.addedBytes).toBeGreaterThan(18_000_000);
    // Ten bytes in the middle of the large file move all that follow them.
    await shell("{ head -c 8000000 large; echo inserted; tail -c +8000001 large; } > l && mv l large; echo x >> f7");
    const second = await take();
    expect(second.addedBytes).toBeGreaterThan(20_000);
    expect(second.addedBytes).toBeLessThan(9_000_000); // a chunk has up to 2 MiB, and few of them move
    expect((await take()).addedBytes).toBe(0);
    expect(await restore(first.manifest)).toMatchObject({ removed: 0, written: 2, writtenBytes: 16_020_000 });
    await shell("touch -d @1 f1; chmod 700 f2");
    expect(await restore(first.manifest)).toMatchObject({ removed: 0, written: 0, changed: 2, writtenBytes: 0 });
    await empty();
  });

  it("[LIF-09] what cannot be read stays as it is, and what stands in the way of a restore goes", async () => {
    await shell(`mkdir -p closed/in open ro; echo secret > closed/in/s; echo s > open/s; echo r > ro/r; chmod 000 open/s closed
      chmod 555 ro`);
    const { manifest, summary } = await take();
    expect(summary).toMatchObject({ unreadable: 2 });
    await shell("chmod 755 ro; rm ro/r; mkdir -p ro/r/x; echo in the way > ro/r/x/y; chmod 000 ro/r/x; chmod 500 ro");
    await shell("mkdir -p new/x; mkfifo new/x/fifo; chmod 000 new/x; chmod 444 new");
    await restore(manifest);
    expect(await shell("cat ro/r; stat -c %a closed open/s ro; ls -A")).toBe("r\n0\n0\n555\nclosed\nopen\nro\n");
    expect(await shell("chmod 700 closed; chmod 600 open/s; cat closed/in/s open/s")).toBe("secret\ns\n");
    // Now that it can be read it is not touched either: the snapshot knows nothing of it.
    await shell("echo more > closed/in/t");
    await restore(manifest);
    expect(await shell("cat closed/in/s closed/in/t")).toBe("secret\nmore\n");
    await empty();
  });

  it("[LIF-09] a sparse file larger than the workspace goes in and comes back", async () => {
    await shell("truncate -s 70M sparse; echo end >> sparse; echo begin | dd of=sparse conv=notrunc status=none");
    const { manifest, addedBytes } = await take();
    expect(addedBytes).toBeLessThan(100_000);
    await shell("rm sparse");
    await restore(manifest);
    expect(await shell("stat -c %s sparse; head -c 6 sparse; tail -c 4 sparse; rm sparse")).toBe(
      `${70 * 1024 ** 2 + 4}\nbegin\nend\n`,
    );
  });

  it("[LIF-09] a restore that cannot be done says at which name, and can be asked for again", async () => {
    await shell("mkdir d closed; head -c 20000000 /dev/urandom > d/large; echo x > x; chmod 000 closed");
    const { manifest } = await take();
    // What a snapshot knows nothing of stays, and takes all the room there is.
    await shell("rm d/large x; chmod 700 closed; head -c 55000000 /dev/zero > closed/full; chmod 000 closed");
    await expect(restore(manifest)).rejects.toMatchObject({ code: "limit_exceeded", message: /^d\/large: / });
    expect(await shell("ls -A . d")).toBe(".:\nclosed\nd\n\nd:\n");
    await shell("chmod 700 closed; rm closed/full; chmod 000 closed");
    await restore(manifest);
    expect(await shell("ls -A; cat x; stat -c %s d/large")).toBe("closed\nd\nx\nx\n20000000\n");
    await empty();
  });

  it("[LIF-09] while user code swaps a folder for a link neither snapshot nor restore passes through it", async () => {
    await shell(`mkdir -p d/e /tmp/victim/e; for i in $(seq 20); do echo inside > d/e/f$i; done
      for i in $(seq 20); do echo outside > /tmp/victim/e/f$i; done; echo outside > /tmp/victim/e/more`);
    const { manifest } = await take();
    const swaps = await sandbox.processes.start({ command: ["python3", "-c", swapper] });
    try {
      for (let turn = 0; turn < 8; turn++) {
        const { entries } = await take();
        const inner = entries.filter(({ path }) => path.startsWith("d/e/"));
        for (const { sha256 } of inner) expect(sha256).toBe(inside);
        // It may fail, with the folder gone from under it; the next one begins anew.
        await restore(manifest).catch((error) => expect(error).toBeInstanceOf(AppError));
      }
    } finally {
      swaps.kill();
      await swaps.wait();
    }
    expect(await shell("cat /tmp/victim/e/* | sort | uniq -c; ls /tmp/victim/e | wc -l")).toMatch(
      /^\s*21 outside\n21\n$/,
    );
    await shell("rm -rf /workspace/* /tmp/victim");
  });
});

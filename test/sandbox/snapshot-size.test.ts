import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { describe, expect, it } from "vitest";
import { restoreTree, takeTree } from "../../packages/server/src/sandboxes/take-tree.ts";
import { FileBlobs } from "../../packages/server/src/store/blobs.ts";
import { engines, openTestCaisson, soak } from "../harness.ts";
import { mustRun } from "./must-run.ts";

/** The size that is promised, and a sample of it. */
const { files, fileBytes } = soak ? { files: 10_000, fileBytes: 100_000 } : { files: 300, fileBytes: 50_000 };

const make = `
import os, sys
files, size = int(sys.argv[1]), int(sys.argv[2])
for i in range(files):
    os.makedirs(f"d{i % 50}", exist_ok=True)
    with open(f"d{i % 50}/file number {i}.bin", "wb") as file:
        file.write(os.urandom(size))
`;

describe.each(soak ? engines : engines.slice(0, 1))("the size of snapshots (%s)", (engine) => {
  it("[LIF-09] after a change of 1 % of the files at most 1.5 % more bytes are stored", async () => {
    await using test = await openTestCaisson();
    const blobs = await FileBlobs.open(join(test.home, "blobs"));
    const sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 2 * 1024 ** 3 } });
    const delay = monitorEventLoopDelay();
    const timed = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
      const begin = performance.now();
      delay.reset();
      const result = await act();
      const ms = Math.round(performance.now() - begin);
      if (soak) console.log(`${engine}: ${what} ${ms} ms, longest stall ${Math.round(delay.max / 1e6)} ms`);
      return result;
    };
    const take = () => takeTree(blobs, sandbox.files, async () => undefined);
    delay.enable();
    try {
      await sandbox.files.write("make.py", make);
      await mustRun(sandbox, `mv make.py /tmp; python3 /tmp/make.py ${files} ${fileBytes}`);
      const first = await timed("first snapshot", take);
      expect(first.totalBytes).toBe(files * fileBytes);
      expect(first.addedBytes).toBeGreaterThan(files * fileBytes);
      expect(first.addedBytes).toBeLessThan(files * fileBytes * 1.01);
      // New bytes in every hundredth file.
      await mustRun(
        sandbox,
        `python3 - <<'END'
import os
for i in range(0, ${files}, 100):
    open(f"d{i % 50}/file number {i}.bin", "wb").write(os.urandom(${fileBytes}))
END`,
      );
      const second = await timed("second snapshot", take);
      const share = second.addedBytes / (files * fileBytes);
      if (soak) console.log(`${engine}: added ${second.addedBytes} bytes, ${(share * 100).toFixed(3)} %`);
      expect(share).toBeGreaterThan(0.01);
      expect(share).toBeLessThanOrEqual(0.015);
      const outcome = await timed("restore", () => restoreTree(blobs, sandbox.files, first.manifest));
      expect(outcome).toMatchObject({ removed: 0, written: files / 100 });
    } finally {
      delay.disable();
      await sandbox.destroy();
    }
  });
});

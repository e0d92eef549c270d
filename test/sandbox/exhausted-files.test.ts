import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { takeTree } from "../../packages/server/src/sandboxes/take-tree.ts";
import { FileBlobs } from "../../packages/server/src/store/blobs.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";

/** gVisor's gofer holds each of nested folders open, and opens no file once it has as many as it may. */
const nest = `
import os
os.mkdir("deep")
os.chdir("deep")
try:
    while True:
        os.mkdir("d")
        os.chdir("d")
except OSError as error:
    print(error.errno)
`;

describe.runIf(engines.includes("gvisor"))("a sandbox that has used up its descriptors (gvisor)", () => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  let blobs: FileBlobs;

  const read = (source: AsyncIterable<unknown>) => Array.fromAsync(source);
  const take = () => takeTree(blobs, sandbox.files, async () => undefined);

  beforeAll(async () => {
    test = await openTestCaisson();
    blobs = await FileBlobs.open(join(test.home, "blobs"));
    sandbox = await test.caisson.createSandbox({ engine: "gvisor", limits: { storageBytes: 256 * 1024 ** 2 } });
    await sandbox.files.write("kept/file", "kept");
  });
  afterAll(async () => {
    await sandbox?.destroy();
    await test[Symbol.asyncDispose]();
  });

  it("[S90] is listed, searched, packed and taken as a snapshot whole, or not at all", async () => {
    const ways: Record<string, () => Promise<unknown>> = {
      list: () => sandbox.files.list(""),
      "list below": () => sandbox.files.list("", { recursive: true }),
      "search names": () => read(sandbox.files.search("", { name: "*" })),
      "search text": () => read(sandbox.files.search("", { text: "kept" })),
      pack: () => read(sandbox.files.pack("")),
      snapshot: take,
    };
    const outcomes = async () => {
      const rows: [string, string][] = [];
      for (const [name, way] of Object.entries(ways))
        rows.push([
          name,
          await way().then(
            () => "whole",
            (error) => error.code,
          ),
        ]);
      return Object.fromEntries(rows);
    };
    const { list, snapshot } = await outcomes();
    expect([list, snapshot]).toEqual(["whole", "whole"]);

    const result = await sandbox.exec({ command: `python3 -c '${nest}'`, limits: { timeoutMs: 100_000 } });
    expect(result.stdout).toBe("24\n"); // EMFILE
    expect(await outcomes()).toEqual(Object.fromEntries(Object.keys(ways).map((name) => [name, "limit_exceeded"])));
  });
});

describe.each(engines)("files that cannot be opened (%s)", (engine) => {
  it("[S90] are passed over and counted where the user may not read them, or they are gone", async () => {
    await using test = await openTestCaisson();
    await using sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 64 * 1024 ** 2 } });
    await sandbox.exec({ command: "mkdir -p a/shut b; echo needle > a/shut/x; echo needle > b/y; chmod 0 a/shut" });
    const rows = await sandbox.files.list("", { recursive: true });
    expect(rows.map(({ name }) => name).sort()).toEqual(["a", "a/shut", "b", "b/y", "output"]);
    const found = await Array.fromAsync(sandbox.files.search("", { text: "needle" }));
    expect(found.map(({ path }) => path)).toEqual(["b/y"]);
    const packed = sandbox.files.pack("");
    for await (const _ of packed);
    expect(packed.summary).toMatchObject({ unreadable: 1 });
  });
});

import { describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import { callerOf, makeHome, small, type TestFleet, until } from "./fixture.ts";

const alice = callerOf("alice");

const shellIn =
  ({ fleet }: TestFleet) =>
  (id: string, command: string) =>
    fleet.use(alice, id, async (sandbox) => (await sandbox.exec({ command })).stdout);

describe.each(engines)("the output folder (%s)", (engine) => {
  it("[EXE-09] is there in every sandbox, for its user to write, and no file of it is told of", async () => {
    await using own = await makeHome();
    await using test = await own.open({ engine, poolSize: 1, limits: { ...small } });
    const { fleet } = test;
    const shell = shellIn(test);
    await until(() => fleet.pools().some(({ ready }) => ready === 1));
    const warm = (await fleet.create(alice, {})).record;
    const cold = (await fleet.create(alice, { limits: { storageBytes: 2 * small.storageBytes } })).record;
    expect([warm.origin, cold.origin]).toEqual(["pool", expect.stringContaining("cold: it asks for other storage")]);
    for (const { id } of [warm, cold]) {
      await fleet.use(alice, id, async (sandbox) => {
        expect((await sandbox.exec({ command: "true" })).files_changed).toEqual([]);
        expect(await sandbox.artifacts.list()).toEqual([]);
        expect((await sandbox.artifacts.sign()).files).toEqual([]);
        const { stdout, files_changed } = await sandbox.exec({ command: "stat -c '%U %a' output; echo 1 > output/a" });
        expect(stdout).toBe("user 755\n");
        expect(files_changed).toMatchObject([{ path: "output/a", action: "created" }]);
        expect(await sandbox.artifacts.list()).toMatchObject([{ path: "a", size_bytes: 2 }]);
        // Twice nothing, then a folder alone, then a file in it.
        const changes = async (command: string) =>
          (await sandbox.exec({ command })).files_changed.map(({ path }) => path);
        expect(await changes("rm output/a")).toEqual(["output/a"]);
        expect(await changes("true")).toEqual([]);
        expect(await changes("true")).toEqual([]);
        expect(await changes("echo 1 > output/b")).toEqual(["output/b"]);
        expect(await changes("rm -r output; mkdir output; echo 1 > output/c")).toEqual(["output/b", "output/c"]);
      });
    }
    expect(await shell(cold.id, "rm -r output; ls")).toBe("");
    expect(await fleet.use(alice, cold.id, ({ artifacts }) => artifacts.list())).toEqual([]);
    // What code has made of it stays, until the workspace is made anew.
    await fleet.stop(alice, cold.id);
    expect(await shell(cold.id, "ls; echo 1 > output")).toBe("");
    await fleet.stop(alice, cold.id);
    expect(await shell(cold.id, "cat output")).toBe("1\n");
    await fleet.reset(alice, cold.id);
    expect(await shell(cold.id, "stat -c '%F %U' output; ls output")).toBe("directory user\n");
    for (const { id } of [warm, cold]) await fleet.destroy(alice, id);
  });

  it("[EXE-09] is there in copies, and stays what code has made of it", async () => {
    await using own = await makeHome();
    await using test = await own.open({ engine });
    const { fleet } = test;
    const shell = shellIn(test);
    const { id } = (await fleet.create(alice, {})).record;
    await shell(id, "echo 1 > output/a");
    const first = (await fleet.fork(alice, id, { count: 1, memory: "never" })).records.map((record) => record.id);
    await shell(id, "rm -r output; ln -s /tmp output");
    const second = (await fleet.fork(alice, id, { count: 1, memory: "never" })).records.map((record) => record.id);
    expect(await shell(first[0] ?? "", "cat output/a; echo 2 > output/b; ls output")).toBe("1\na\nb\n");
    expect(await shell(second[0] ?? "", "readlink output")).toBe("/tmp\n");
    for (const one of [id, ...first, ...second]) await fleet.destroy(alice, one);
  });

  it("[LIF-09] is part of a snapshot, and is restored with it", async () => {
    await using own = await makeHome();
    await using test = await own.open({ engine });
    const { fleet, storage } = test;
    const { id } = (await fleet.create(alice, {})).record;
    await fleet.use(alice, id, async (sandbox) => {
      const empty = await storage.snapshots.create(alice, sandbox);
      expect(empty).toMatchObject({ files: 0, folders: 1 });
      const difference = await storage.snapshots.diffLive(alice, empty.id, sandbox);
      expect(difference).toMatchObject({ created: [], modified: [], deleted: [] });
      await sandbox.exec({ command: "rm -r output" });
      await storage.snapshots.restore(alice, sandbox, empty.id);
      expect((await sandbox.exec({ command: "stat -c '%F %U' output" })).stdout).toBe("directory user\n");
    });
    await fleet.destroy(alice, id);
  });
});

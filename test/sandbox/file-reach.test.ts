import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { topFolders } from "../../packages/server/src/core/top-folders.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";
import { mustRun } from "./must-run.ts";

const tops = topFolders.join(" ");

describe.each(engines)("what the file API reaches (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;

  const read = async (path: string) => Buffer.concat(await Array.fromAsync(sandbox.files.read(path))).toString();
  const pack = async (path: string) => Buffer.concat(await Array.fromAsync(sandbox.files.pack(path)));

  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 64 * 1024 ** 2 } });
  });
  afterAll(async () => {
    await sandbox?.destroy();
    await test[Symbol.asyncDispose]();
  });

  it.each(topFolders)("[FIL-02] %s, by every call, and the sandbox sees the same files", async (top) => {
    const { files } = sandbox;
    await files.write(`${top}/made/one`, "needle");
    expect(await mustRun(sandbox, `cat ${top}/made/one; stat -c ' %u %a' ${top}/made/one`)).toBe("needle 1000 644\n");
    expect(await read(`${top}/made/one`)).toBe("needle");
    await files.mkdir(`${top}/made/inner`);
    await files.move(`${top}/made/one`, `${top}/made/inner/two`);
    expect((await files.list(`${top}/made`, { recursive: true })).map(({ name }) => name)).toEqual([
      "inner",
      "inner/two",
    ]);
    expect(await files.stat(`${top}/made/inner/two`)).toMatchObject({ type: "file", size: 6 });
    expect(await files.stat(top)).toMatchObject({ type: "directory" });
    expect((await Array.fromAsync(files.search(`${top}/made`, { text: "needle" }))).length).toBe(1);
    await files.unpack(`${top}/copy`, await pack(`${top}/made`));
    expect(await read(`${top}/copy/inner/two`)).toBe("needle");
    await files.remove(`${top}/made`, { recursive: true });
    expect(await mustRun(sandbox, `ls -A ${top} | grep -c -e made -e unpack || true`)).toBe("0\n");
    await mustRun(sandbox, `rm -r ${top}/copy`);
  });

  it("[FIL-02] a relative path is one of /workspace", async () => {
    await sandbox.files.write("relative", "x");
    expect(await mustRun(sandbox, "cat /workspace/relative")).toBe("x");
  });

  it.each(topFolders)("[FIL-02] a folder is read as EISDIR: %s", async (top) => {
    await mustRun(sandbox, `mkdir -p ${top}/folder`);
    for (const path of [top, `${top}/folder`])
      await expect(read(path)).rejects.toMatchObject({ code: "invalid", details: { errno: "EISDIR" } });
    await expect(sandbox.files.write(`${top}/folder`, "x")).rejects.toMatchObject({ details: { errno: "EISDIR" } });
    await mustRun(sandbox, `rmdir ${top}/folder`);
  });

  it("[FIL-02] nothing else, though the user may read it, and no link leads there or to another of them", async () => {
    const closed = [
      "/run/secrets",
      "/run/caisson",
      "/proc/self/environ",
      "/etc/passwd",
      "/usr/bin/env",
      "/",
      "/home",
      "/dev/null",
    ];
    await mustRun(sandbox, "mkdir -p /tmp/target; echo x > /tmp/target/file");
    for (const path of closed) {
      await expect(read(path)).rejects.toMatchObject({ code: "forbidden" });
      await expect(sandbox.files.list(path)).rejects.toMatchObject({ code: "forbidden" });
      await expect(sandbox.files.write(`${path}/new`, "x")).rejects.toMatchObject({ code: "forbidden" });
      await mustRun(sandbox, `for top in ${tops}; do ln -sfn ${path} $top/link; ln -sfn ../..${path} $top/climb; done`);
      for (const top of topFolders)
        for (const way of [`${top}/link`, `${top}/climb`, `${top}/../${path}`])
          await expect([way, await read(way).catch(({ code }) => code)]).toEqual([way, "forbidden"]);
    }
    await mustRun(sandbox, "ln -sfn /tmp/target /workspace/link; ln -sfn /workspace /tmp/link");
    for (const way of ["/workspace/link/file", "/tmp/link/relative"])
      await expect(read(way)).rejects.toMatchObject({ code: "forbidden" });
    await mustRun(sandbox, `for top in ${tops}; do rm $top/link $top/climb; done`);
  });

  it("[FIL-02] a file that the user may not write is not replaced, and one that it may is", async () => {
    await mustRun(sandbox, "echo old > kept; chmod 444 kept; echo old > free; chmod 600 free; ln -sfn kept link");
    await expect(sandbox.files.write("kept", "new")).rejects.toMatchObject({ code: "forbidden" });
    await sandbox.files.write("free", "new");
    await sandbox.files.write("link", "new"); // the link's own name is the user's
    expect(await mustRun(sandbox, "cat kept free link; ls -A | grep -c upload || true")).toBe("old\nnewnew0\n");
  });

  it("[FIL-02] a file is not moved from one file system to another, and stays", async () => {
    await sandbox.files.write("/tmp/stays", "x");
    const moved = sandbox.files.move("/tmp/stays", "/workspace/stays");
    await expect(moved).rejects.toMatchObject({ code: "invalid", message: /copy it/ });
    expect(await read("/tmp/stays")).toBe("x");
  });

  it("[FIL-07] what snapshots are made of is /workspace alone", async () => {
    await sandbox.files.write("/workspace/mine", "x");
    await sandbox.files.write("/tmp/other", "x");
    await sandbox.files.write("/home/user/other", "x");
    const names = (await pack("")).toString("latin1");
    expect([names.includes("mine"), names.includes("other")]).toEqual([true, false]);
  });
});

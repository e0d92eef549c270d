import { createHash, randomBytes } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, seed, type TestCaisson } from "../harness.ts";

async function collect(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe.each(engines)("files (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;
  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 256 * 1024 ** 2 } });
  });
  afterAll(async () => {
    await sandbox.destroy();
    await test[Symbol.asyncDispose]();
  });

  it("[FIL-01] any bytes go in and come out the same, whole or in ranges", async () => {
    const body = randomBytes(3_000_000);
    await sandbox.files.write("a/b/c.bin", body);
    expect(
      createHash("sha256")
        .update(await collect(sandbox.files.read("a/b/c.bin")))
        .digest("hex"),
    ).toBe(createHash("sha256").update(body).digest("hex"));
    expect(await collect(sandbox.files.read("/workspace/a/b/c.bin", { offset: 1000, length: 77 }))).toEqual(
      body.subarray(1000, 1077),
    );
    expect(await collect(sandbox.files.read("a/b/c.bin", { offset: 4_000_000 }))).toEqual(Buffer.alloc(0));
    await sandbox.files.write("empty", "");
    expect(await collect(sandbox.files.read("empty"))).toEqual(Buffer.alloc(0));
  });

  it("[FIL-01] list, stat, mkdir, move and remove", async () => {
    await sandbox.files.mkdir("box/inner");
    await sandbox.files.write("box/one.txt", "1", 0o755);
    await sandbox.exec({ command: "ln -s one.txt box/link; mkfifo box/fifo" });
    const rows = (await sandbox.files.list("box")).sort((a, b) => a.name.localeCompare(b.name));
    expect(rows.map(({ name, type, size }) => [name, type, size])).toEqual([
      ["fifo", "other", 0],
      ["inner", "directory", expect.any(Number)],
      ["link", "link", 7],
      ["one.txt", "file", 1],
    ]);
    expect(await sandbox.files.stat("box/link")).toMatchObject({ type: "link", target: "one.txt" });
    expect(await sandbox.files.stat("box/one.txt")).toMatchObject({ mode: 0o755, size: 1 });
    await sandbox.files.move("box/one.txt", "box/inner/two.txt");
    expect((await collect(sandbox.files.read("box/inner/two.txt"))).toString()).toBe("1");
    await sandbox.files.write("box/three", "3");
    await expect(sandbox.files.move("box/three", "box/inner/two.txt")).rejects.toMatchObject({ code: "conflict" });
    await expect(sandbox.files.remove("box")).rejects.toMatchObject({ code: "conflict" });
    await sandbox.files.remove("box", { recursive: true });
    await expect(sandbox.files.stat("box")).rejects.toMatchObject({ code: "not_found" });
  });

  it("[FIL-01] a failed upload leaves the old file and no part of the new one", async () => {
    await sandbox.files.write("kept", "old");
    const broken = (async function* () {
      yield Buffer.alloc(100_000);
      throw new Error("source broke");
    })();
    await expect(sandbox.files.write("kept", broken)).rejects.toThrow("source broke");
    expect((await collect(sandbox.files.read("kept"))).toString()).toBe("old");
    expect((await sandbox.exec({ command: "ls -A | grep -c upload" })).stdout).toBe("0\n");
  });

  it("[FIL-01] an upload past the storage limit says that the workspace is full", async () => {
    const endless = (async function* () {
      for (let i = 0; i < 400; i++) yield Buffer.alloc(1024 ** 2);
    })();
    await expect(sandbox.files.write("huge", endless)).rejects.toMatchObject({ code: "limit_exceeded" });
    await expect(sandbox.files.stat("huge")).rejects.toMatchObject({ code: "not_found" });
  });

  it.each([
    "../etc/passwd",
    "/etc/passwd",
    "/workspace/../etc/passwd",
    "a/../../etc/passwd",
    "/proc/1/environ",
    "out/passwd",
    "abs",
    "loop",
    "fifo",
    "/workspacex/y",
    "proc",
  ])("[FIL-02] the path %s reaches nothing", async (path) => {
    await sandbox.exec({
      command:
        "ln -sfn /etc out; ln -sfn /etc/passwd abs; ln -sfn loop loop; ln -sfn /proc/self/environ proc; [ -p fifo ] || mkfifo fifo",
    });
    await expect(collect(sandbox.files.read(path))).rejects.toMatchObject({
      code: expect.stringMatching(/forbidden|invalid|not_found/),
    });
  });

  it("a file can be linked by each of its names, also when the first is gone", async () => {
    const command =
      "mkdir names && cd names && echo same > a && ln a b && rm a && ln b c && ln -s gone d && ln -P d e && rm d && ln -P e f && cat c";
    expect(await sandbox.exec({ command })).toMatchObject({ exit_code: 0, stdout: "same\n" });
    expect((await sandbox.exec({ command: "readlink names/f; rm -r names" })).stdout).toBe("gone\n");
  });

  it("[FIL-02] a link inside the workspace is followed", async () => {
    await sandbox.exec({
      command: "mkdir -p real/dir; echo here > real/dir/f; ln -sfn real/dir short; ln -sfn /workspace/short/f full",
    });
    expect((await collect(sandbox.files.read("short/f"))).toString()).toBe("here\n");
    expect((await collect(sandbox.files.read("full"))).toString()).toBe("here\n");
  });

  it("[FIL-02] a worker has the user's rights, not the guest's (hazard 6)", async () => {
    await sandbox.exec({ command: "echo x > secret; chmod 000 secret; ln -sfn /proc/1/fd/0 wire; ln -sfn /run own" });
    for (const path of ["secret", "wire", "own"])
      await expect(collect(sandbox.files.read(path))).rejects.toMatchObject({ code: "forbidden" });
    await sandbox.files.write("mine/upload", "x");
    expect((await sandbox.exec({ command: "stat -c %u:%g mine mine/upload" })).stdout).toBe("1000:1000\n1000:1000\n");
  });

  it("[FIL-02] no path, however made, leaves the workspace or hurts the sandbox", async () => {
    const part = fc.constantFrom(
      "..",
      ".",
      "",
      "a",
      "out",
      "abs",
      "loop",
      "fifo",
      "%2e%2e",
      "a\nb",
      "é",
      "\u0001",
      "x".repeat(300),
      "/etc",
      "proc",
    );
    const paths = fc.array(part, { maxLength: 12 }).map((parts) => parts.join("/"));
    await fc.assert(
      fc.asyncProperty(paths, async (path) => {
        const read = await collect(sandbox.files.read(path)).catch((error: { code?: string }) => error);
        if (Buffer.isBuffer(read)) expect(read.toString()).not.toMatch(/root:/);
        else expect(read.code).toMatch(/^(forbidden|invalid|not_found)$/);
        await sandbox.files
          .write(`${path}/w`, "w")
          .catch((error: { code?: string }) => expect(error.code).toMatch(/^(forbidden|invalid|not_found|conflict)$/));
      }),
      { numRuns: 60, seed },
    );
    expect((await sandbox.exec({ command: "echo alive" })).stdout).toBe("alive\n");
  }, 120_000);

  it("[FIL-02] refuses a NUL and a path without end", async () => {
    await expect(sandbox.files.stat("a\0b")).rejects.toMatchObject({ code: "invalid" });
    await expect(sandbox.files.stat("a/".repeat(10_000))).rejects.toMatchObject({ code: "invalid" });
  });
});

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { changeLimits } from "../../packages/server/src/core/limits.ts";
import { engineNames, limits, makeHome, openEngine, Puppet } from "./fixture.ts";

const sha256 = (text: string | Buffer) => createHash("sha256").update(text).digest("hex");

/** What the engine copies for each workspace, as file systems were made once. */
async function formatWithShortInodes(home: string, bytes: number): Promise<void> {
  const folder = join(home, "engine/templates");
  const path = join(folder, `ext4-${bytes}.img`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(path, "");
  await truncate(path, bytes);
  await promisify(execFile)("mkfs.ext4", ["-q", "-F", "-m", "0", "-I", "128", path]);
}

describe.each(engineNames)("changed files of engine %s", (name) => {
  const table: [string, string, string, unknown[]][] = [
    ["a new file", "", `open("a", "w").write("one")`, [["created", "a", 3, sha256("one")]]],
    [
      "a file in new folders",
      "",
      `os.makedirs("d/e"); open("d/e/f", "w").write("x")`,
      [["created", "d/e/f", 1, sha256("x")]],
    ],
    [
      "a changed file",
      `open("a", "w").write("one")`,
      `open("a", "w").write("two")`,
      [["modified", "a", 3, sha256("two")]],
    ],
    [
      "a change that forges the mtime",
      `open("a", "w").write("one"); t = os.stat("a")`,
      `open("a", "w").write("two"); os.utime("a", ns=(t.st_atime_ns, t.st_mtime_ns))`,
      [["modified", "a", 3, sha256("two")]],
    ],
    ["a deleted file", `open("a", "w").write("one")`, `os.unlink("a")`, [["deleted", "a", 0, null]]],
    [
      "a deleted folder",
      `os.mkdir("d"); open("d/a", "w").close()`,
      `os.unlink("d/a"); os.rmdir("d")`,
      [["deleted", "d/a", 0, null]],
    ],
    [
      "a renamed file",
      `open("a", "w").write("one")`,
      `os.rename("a", "b")`,
      [
        ["deleted", "a", 0, null],
        ["created", "b", 3, sha256("one")],
      ],
    ],
    [
      "a replaced file",
      `open("a", "w").write("one")`,
      `open("b", "w").write("two"); os.rename("b", "a")`,
      [["modified", "a", 3, sha256("two")]],
    ],
    ["a link, never what it names", "", `os.symlink("/etc/passwd", "l")`, [["created", "l", 11, null]]],
    ["no folder of itself", "", `os.mkdir("d")`, []],
    [
      "the first file, in a folder that is there",
      `os.mkdir("d")`,
      `open("d/a", "w").close()`,
      [["created", "d/a", 0, sha256("")]],
    ],
    ["no FIFO and no socket", "", `os.mkfifo("p")`, []],
    ["a file that may not be read", "", `open("a", "w").write("one"); os.chmod("a", 0)`, [["created", "a", 3, null]]],
    ["a hidden file", "", `open(".a", "w").write("one")`, [["created", ".a", 3, sha256("one")]]],
    ["a name with a newline", "", `open("a\\nb c", "w").close()`, [["created", "a\nb c", 0, sha256("")]]],
    ["nothing, when nothing changed", `open("a", "w").write("one")`, `open("a").read()`, []],
  ];

  it("[EXE-08] are told as they are, links as links", { timeout: 120_000 }, async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const sandbox = await engine.create({ limits });
    using puppet = new Puppet(sandbox);
    for (const [title, before, act, expected] of table) {
      await puppet.run(
        `import shutil; [shutil.rmtree(n) if os.path.isdir(n) and not os.path.islink(n) else os.unlink(n) for n in os.listdir(".")]`,
      );
      if (before !== "") await puppet.run(before);
      await engine.markFiles(sandbox.id);
      await puppet.run(act);
      const { changes } = await engine.changedFiles(sandbox.id);
      expect(
        changes.map((change) => [change.action, change.path, change.size_bytes, change.sha256]),
        title,
      ).toEqual(expected);
      expect(await engine.changedFiles(sandbox.id), title).toEqual({ changes: [], truncated: false });
    }
  });

  it("[EXE-08] are told however soon after a look they were made", { timeout: 120_000 }, async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const sandbox = await engine.create({ limits });
    using puppet = new Puppet(sandbox);
    await engine.markFiles(sandbox.id);
    const told = async () => (await engine.changedFiles(sandbox.id)).changes.map(({ action }) => action);
    for (let round = 0; round < 30; round++) {
      expect(await told()).toEqual([]);
      await puppet.run(`open("a", "w").close()`);
      expect(await told()).toEqual(["created"]);
      await puppet.run(`os.unlink("a"); os.mkdir("d")`);
      expect(await told()).toEqual(["deleted"]);
      await puppet.run(`open("d/a", "w").close()`);
      expect(await told()).toEqual(["created"]);
      await puppet.run(`os.unlink("d/a"); os.rmdir("d")`);
      expect(await told()).toEqual(["deleted"]);
    }
  });

  it("[EXE-08] are told in the same second, too, where the file system knows of seconds alone", async () => {
    await using home = await makeHome();
    await formatWithShortInodes(home.home, limits.storageBytes);
    await using engine = await openEngine(name, home);
    const sandbox = await engine.create({ limits });
    using puppet = new Puppet(sandbox);
    await engine.markFiles(sandbox.id);
    const told = async () => (await engine.changedFiles(sandbox.id)).changes.map(({ action }) => action);
    await puppet.run(`assert os.stat("/workspace").st_ctime_ns % 10**9 == 0`);
    for (let round = 0; round < 5; round++) {
      await puppet.run(`open("b", "w").close(); os.unlink("b")`);
      expect(await told()).toEqual([]);
      await puppet.run(`open("a", "w").close()`);
      expect(await told()).toEqual(["created"]);
      await puppet.run(`os.unlink("a")`);
      expect(await told()).toEqual(["deleted"]);
    }
  });

  it("take no walk where the workspace was empty and is", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const sandbox = await engine.create({ limits });
    using puppet = new Puppet(sandbox);
    await engine.markFiles(sandbox.id);
    const folder = join(home.home, "engine/sandboxes", sandbox.id);
    const marks = async () =>
      Promise.all(["mark.0", "mark.1"].map(async (mark) => (await stat(join(folder, mark), { bigint: true })).mtimeNs));
    const walks = async () => {
      const before = await marks();
      expect(await engine.changedFiles(sandbox.id)).toEqual({ changes: [], truncated: false });
      return !isDeepStrictEqual(await marks(), before);
    };
    await expect.poll(walks).toBe(false); // the first look may be as old as the workspace
    for (const name of ["a", "output/a"]) {
      await puppet.run(`open("${name}", "w").close(); os.unlink("${name}")`);
      expect(await walks()).toBe(true);
      await expect.poll(walks).toBe(false);
    }
  });

  it("name bytes that are no UTF-8 with U+FFFD", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const sandbox = await engine.create({ limits });
    using puppet = new Puppet(sandbox);
    await engine.markFiles(sandbox.id);
    await puppet.run(`open(b"a\\xff", "w").close()`);
    expect((await engine.changedFiles(sandbox.id)).changes.map(({ path }) => path)).toEqual(["a\uFFFD"]);
  });

  it("are not told when the walk takes too long, and the next look tells them all", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const sandbox = await engine.create({ limits });
    using puppet = new Puppet(sandbox);
    await puppet.run(`open("before", "w").close()`);
    await engine.markFiles(sandbox.id);
    await puppet.run(`[open(str(n), "w").close() for n in range(5000)]; os.unlink("before")`);
    const { timeoutMs } = changeLimits;
    onTestFinished(() => void Object.assign(changeLimits, { timeoutMs }));
    Object.assign(changeLimits, { timeoutMs: 1 });
    await expect(engine.changedFiles(sandbox.id)).rejects.toMatchObject({
      message: expect.stringContaining("in time"),
    });
    Object.assign(changeLimits, { timeoutMs });
    const { changes } = await engine.changedFiles(sandbox.id);
    expect(changes).toHaveLength(5001);
    expect(changes.find(({ action }) => action === "deleted")).toMatchObject({ path: "before" });
  });

  it("do not hash a file of endless size", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const sandbox = await engine.create({ limits });
    using puppet = new Puppet(sandbox);
    await engine.markFiles(sandbox.id);
    await puppet.run(`open("a", "w").truncate(1 << 40)`);
    const started = Date.now();
    expect((await engine.changedFiles(sandbox.id)).changes).toMatchObject([
      { path: "a", size_bytes: 2 ** 40, sha256: null },
    ]);
    expect(Date.now() - started).toBeLessThan(5_000);
  });
});

describe("a workspace that moves while it is read", () => {
  /** Swaps a folder with a link to /etc and to the root-only folder, as fast as it can. */
  const swapper = `
import ctypes, threading
libc = ctypes.CDLL(None)
os.mkdir("d"); os.mkdir("x")
for n in ("d", "x"):
    for f in ("secret", "shadow", "passwd"): open(n + "/" + f, "w").write("mine")
os.symlink("/probe", "l")
def swap():
    while True: libc.renameat2(-100, b"d", -100, b"l", 2)
threading.Thread(target=swap, daemon=True).start()
`;

  it("[EXE-08] never yields the hash or size of a file outside it (hazard 1)", { timeout: 120_000 }, async () => {
    await using home = await makeHome();
    const outside = await mkdtemp(join(tmpdir(), "caisson-outside-"));
    try {
      const secret = "a root-only secret of the host";
      await writeFile(join(outside, "secret"), secret, { mode: 0o600 });
      await using engine = await openEngine("container", home);
      const sandbox = await engine.create({ limits });
      using puppet = new Puppet(sandbox);
      await puppet.run(swapper.replace("/probe", outside));
      const forbidden = [sha256(secret), sha256(await readFile("/etc/passwd"))];
      await engine.markFiles(sandbox.id);
      let seen = 0;
      for (const end = Date.now() + 5_000; Date.now() < end; ) {
        await puppet.run(`[open(n + "/secret", "w").write("mine") for n in ("x",)]`);
        for (const { sha256: hash, size_bytes, path } of (await engine.changedFiles(sandbox.id)).changes) {
          seen++;
          expect(forbidden).not.toContain(hash);
          if (path !== "l" && path !== "d" && hash !== null) expect([0, 4]).toContain(size_bytes);
        }
      }
      expect(seen).toBeGreaterThan(10);
    } finally {
      await rm(outside, { recursive: true, force: true });
    }
  });
});

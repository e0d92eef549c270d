import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { engines, openTestCaisson, type TestCaisson } from "../harness.ts";
import { hostileArchives } from "./hostile-archives.ts";
import { mustRun } from "./must-run.ts";
import { archive, entry, pax } from "./tar-bytes.ts";

async function collect(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** In pieces whose ends are nowhere in particular. */
async function* pieces(bytes: Buffer, size = 1000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe.each(engines)("archives (%s)", (engine) => {
  let test: TestCaisson;
  let sandbox: Sandbox;

  const shell = (command: string) => mustRun(sandbox, command);
  async function told(folder: string): Promise<string[]> {
    await shell(`python3 odd-tree.py tell ${folder} > told`);
    return (await collect(sandbox.files.read("told"))).toString().split("\n").sort();
  }

  beforeAll(async () => {
    test = await openTestCaisson();
    sandbox = await test.caisson.createSandbox({ engine, limits: { storageBytes: 64 * 1024 ** 2 } });
    await sandbox.files.write("odd-tree.py", await readFile(join(import.meta.dirname, "odd-tree.py")));
    await shell("mkdir odd && python3 odd-tree.py make odd 1000");
  });
  afterAll(async () => {
    await sandbox?.destroy();
    await test[Symbol.asyncDispose]();
  });

  it("[FIL-04] a thousand files of odd names and kinds go out and in the same", async () => {
    const packed = sandbox.files.pack("odd");
    const bytes = await collect(packed);
    expect(packed.summary).toEqual({ entries: expect.any(Number), skipped: 2, unreadable: 0, changed: 0 });
    expect(packed.summary?.entries).toBeGreaterThan(1000);
    await sandbox.files.unpack("again", pieces(bytes));
    const before = await told("odd");
    expect(before.length).toBeGreaterThan(1000);
    expect(await told("again")).toEqual(before);
    // Another program reads it the same.
    await sandbox.files.write("packed.tar", bytes);
    await shell("mkdir other && tar -C other -xpf packed.tar && rm packed.tar");
    expect(await told("other")).toEqual(before);
    await shell("chmod -R u+w again other && rm -rf again other");
  });

  it("[FIL-04] gzip goes out and in, and is told from plain by its first bytes", async () => {
    const packed = sandbox.files.pack("odd/f3", { gzip: true });
    const bytes = await collect(packed);
    expect(bytes.subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]));
    expect(packed.summary?.entries).toBeGreaterThan(50);
    await sandbox.files.unpack("zipped", pieces(bytes, 1));
    expect(await told("zipped")).toEqual(await told("odd/f3"));
  });

  it.each(["gnu", "pax", "ustar", "v7"])("[FIL-04] takes what tar --format=%s makes", async (format) => {
    const name = format === "v7" ? "short" : `${"long".repeat(20)}/${"name".repeat(20)}`;
    await shell(`rm -rf src dst; mkdir -p src/${name}; echo long > src/${name}/f; echo short > src/f; ln src/f src/hard
      ln -s f src/soft; tar -C src --format=${format} -cf src.tar .`);
    await sandbox.files.unpack("dst", sandbox.files.read("src.tar"));
    expect(await told("dst")).toEqual(await told("src"));
    expect(await shell("stat -c %h dst/hard")).toBe("2\n");
  });

  it("[FIL-04] sizes past 8 GB are told in a pax header, and a reader may leave early", async () => {
    await shell("mkdir big && truncate -s 10000000000 big/sparse");
    let begin: Buffer = Buffer.alloc(0);
    for await (const chunk of sandbox.files.pack("big")) {
      begin = Buffer.concat([begin, chunk]);
      if (begin.length > 4096) break;
    }
    expect(begin.toString("latin1")).toContain(" size=10000000000\n");
    expect(await shell("echo alive")).toBe("alive\n");
  });

  it("[FIL-04] what goes out follows no link and carries no set-uid bit", async () => {
    await shell("mkdir -p out; ln -s /etc out/etc; ln -s ../odd out/odd; echo x > out/s; chmod 4755 out/s");
    const packed = sandbox.files.pack("out");
    const bytes = await collect(packed);
    expect(packed.summary?.entries).toBe(3);
    expect(bytes.toString("latin1")).not.toContain("root:");
    await shell("mkdir taken");
    await sandbox.files.write("out.tar", bytes);
    expect(await shell("tar -tvf out.tar | cut -c1-10 | sort")).toBe("-rwxr-xr-x\nlrwxrwxrwx\nlrwxrwxrwx\n");
  });

  it("[FIL-04] packs a single file, and says what cannot be packed", async () => {
    await shell("echo one > one.txt; mkdir -p shut/in; echo x > shut/in/x; chmod 000 shut/in");
    await sandbox.files.unpack("single", sandbox.files.pack("one.txt"));
    expect(await shell("cat single/one.txt")).toBe("one\n");
    const packed = sandbox.files.pack("shut");
    await collect(packed);
    expect(packed.summary).toMatchObject({ entries: 1, unreadable: 1 });
    await expect(collect(sandbox.files.pack("nowhere"))).rejects.toMatchObject({ code: "not_found" });
    await expect(collect(sandbox.files.pack("/etc"))).rejects.toMatchObject({ code: "forbidden" });
  });

  it("[FIL-04] merges with what is there, replaces only when asked, and else changes nothing", async () => {
    await shell("mkdir -p m/d; echo old > m/d/f; echo kept > m/kept");
    const bytes = archive({ name: "d/g", body: "g" }, { name: "d/f", body: "new" }, { name: "e/h", body: "h" });
    await expect(sandbox.files.unpack("m", pieces(bytes))).rejects.toMatchObject({ code: "conflict" });
    expect(await shell("cd m; find . -type f | sort; cat d/f")).toBe("./d/f\n./kept\nold\n");
    await sandbox.files.unpack("m", pieces(bytes), { replace: true });
    expect(await shell("cd m; find . -type f | sort; cat d/f")).toBe("./d/f\n./d/g\n./e/h\n./kept\nnew");
    await shell("ln -s /tmp m/out; ln -s d m/in");
    for (const name of ["out/x", "in/x"])
      await expect(sandbox.files.unpack("m", pieces(archive({ name, body: "x" })))).rejects.toMatchObject({
        code: "conflict",
      });
    await expect(sandbox.files.unpack("m/kept", pieces(bytes))).rejects.toMatchObject({ code: "invalid" });
    await expect(sandbox.files.unpack("/etc", pieces(bytes))).rejects.toMatchObject({ code: "forbidden" });
  });

  it("[FIL-04] unpacks into the workspace itself", async () => {
    await sandbox.files.unpack("/workspace", pieces(archive({ name: "./top", body: "t" }, { name: "./", type: "5" })));
    expect(await shell("cat top; ls -A | grep -c caisson- || true")).toBe("t0\n");
  });

  it("[FIL-04] names are bytes, and links that stay inside are kept", async () => {
    const bytes = archive(
      pax({ path: `${"n".repeat(150)}/\u00e9` }),
      entry({ name: "x", body: "1" }),
      { name: Buffer.from([0xff, 0x0a]), body: "2" },
      { name: "a/b/c", type: "2", target: "../../x" },
      { name: "l", type: "2", target: "./a//b/c" },
    );
    await sandbox.files.unpack("bytes", pieces(bytes, 511));
    expect(await told("bytes")).toHaveLength(8);
    expect(await shell("readlink bytes/a/b/c bytes/l")).toBe("../../x\n./a//b/c\n");
  });

  describe("[FIL-04] refuses, with nothing left:", () => {
    beforeAll(() => shell("mkdir -p hostile/kept; echo kept > hostile/kept/f"));

    it.each(hostileArchives)("$what", async ({ bytes, says, limits }) => {
      const options = limits === undefined ? {} : { limits };
      const refused = sandbox.files.unpack("hostile", pieces(bytes, 64 * 1024), options);
      await expect(refused).rejects.toThrow(says);
      await expect(refused).rejects.toMatchObject({ code: expect.stringMatching(/^(invalid|limit_exceeded)$/) });
      const rows = await sandbox.files.list("hostile", { recursive: true });
      expect(rows.map((row) => row.name).sort()).toEqual(["kept", "kept/f"]);
      expect((await sandbox.files.list("")).filter((row) => row.name.startsWith(".caisson"))).toEqual([]);
    });

    it("an archive whose source fails, and one that fills the workspace", async () => {
      const broken = (async function* () {
        yield entry({ name: "a", body: "a" });
        throw new Error("source broke");
      })();
      await expect(sandbox.files.unpack("hostile", broken)).rejects.toThrow("source broke");
      const endless = (async function* () {
        yield entry({ name: "a", size: 100 * 1024 ** 2 });
        for (let i = 0; i < 100; i++) yield Buffer.alloc(1024 ** 2, i);
      })();
      await expect(sandbox.files.unpack("hostile", endless)).rejects.toMatchObject({ code: "limit_exceeded" });
      expect(await shell("ls -A hostile; ls -A | grep -c caisson- || true")).toBe("kept\n0\n");
    });

    it("an archive whose source then stops for ever", async () => {
      const stopped = (async function* () {
        yield entry({ name: "../a", body: "a" });
        await new Promise(() => undefined);
      })();
      await expect(sandbox.files.unpack("hostile", stopped)).rejects.toThrow("leads out");
    });

    it("an archive whose worker user code kills", async () => {
      const running = Promise.withResolvers<void>();
      const killed = Promise.withResolvers<void>();
      const slow = (async function* () {
        yield entry({ name: "a", body: "a" });
        running.resolve();
        await killed.promise;
        yield entry({ name: "b", body: "b" });
      })();
      const refused = sandbox.files.unpack("hostile", slow);
      refused.catch(() => undefined);
      await running.promise;
      await sandbox.exec({ command: "until ls .caisson-unpack-*/tree/a; do :; done; kill -9 -1" });
      killed.resolve();
      await expect(refused).rejects.toMatchObject({ code: "unavailable" });
      expect(await shell("ls -A hostile; ls -A | grep -c caisson- || true")).toBe("kept\n0\n");
    });
  });
});

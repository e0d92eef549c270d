import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { askDaemon } from "../../packages/server/src/cli/client/client.ts";
import type { RunIo } from "../../packages/server/src/cli/run.ts";
import { loadConfiguration } from "../../packages/server/src/config/config.ts";
import { readEnvironment } from "../../packages/server/src/config/env.ts";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";

const MiB = 1024 ** 2;

describe.each(engines)("caisson cp of a folder (%s)", (engine) => {
  let server: TestServer;
  let folder: string;
  let key: string;
  let id: string;
  beforeAll(async () => {
    folder = await mkdtemp("/var/tmp/caisson-test-");
    server = await openTestServer(engine);
    key = (await server.keyring.issue({ name: "admin", namespace: "default", role: "admin" })).token;
    id = (await said("create")).trim();
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** As a user types it, up to the process around it; and at a terminal, where it is one. */
  const type = async (words: readonly string[], isTTY = false) => {
    const variables = { CAISSON_URL: server.base, CAISSON_API_KEY: key, CAISSON_HOME: folder };
    const environment = readEnvironment(variables);
    const [stdout, stderr] = [new PassThrough(), Object.assign(new PassThrough(), { isTTY, columns: 60 })];
    const texts = [stdout.toArray(), stderr.toArray()];
    const io = { stdin: process.stdin, stdout, stderr, terminal: { color: false } } as unknown as RunIo;
    const done = askDaemon(words, environment, () => loadConfiguration({ environment }), io);
    const code = await done.finally(() => [stdout, stderr].map((one) => one.end()));
    const [out = "", err = ""] = (await Promise.all(texts)).map((pieces) => Buffer.concat(pieces).toString());
    return { code, out, err };
  };
  const said = async (...words: string[]) => {
    const { code, out, err } = await type(words);
    expect([code, err]).toEqual([0, ""]);
    return out;
  };
  const exec = (line: string) => said("exec", id, line);
  const refused = (...words: string[]) => type(words).catch((error: unknown) => error);
  const at = (...names: string[]) => join(folder, ...names);
  /** Requests that copy, while something is done. */
  const requests = async (act: () => Promise<unknown>) => {
    const spy = vi.spyOn(globalThis, "fetch");
    try {
      await act();
      return spy.mock.calls
        .map(([url, init]) => `${init?.method} ${new URL(String(url)).pathname.split("/").slice(5).join("/")}`)
        .filter((line) => !line.endsWith(" ") && !line.endsWith("stat"));
    } finally {
      spy.mockRestore();
    }
  };

  it("[CLI-01] goes in as one archive: into what is there, with the modes of programs and of others", async () => {
    await mkdir(at("tree/deep/empty"), { recursive: true });
    for (let n = 0; n < 20; n++) await writeFile(at(`tree/deep/file${n}`), `${n}\n`);
    await writeFile(at("tree/run.sh"), "echo ran\n", { mode: 0o700 });
    await writeFile(at("tree/déjà vu"), "");
    await exec("mkdir -p tree/deep; chmod 700 tree/deep; echo old >tree/deep/file7; echo stays >tree/other");
    expect(await requests(() => said("cp", at("tree"), `${id}:`))).toEqual(["PUT archive"]);
    expect(await exec("cat tree/deep/file7 tree/other; cd tree; ./run.sh; ls")).toBe(
      "7\nstays\nran\ndeep\ndéjà vu\nother\nrun.sh\n",
    );
    expect(await exec("cd tree; stat -c %a deep deep/empty deep/file1 run.sh; ls deep | wc -l")).toBe(
      "700\n755\n644\n755\n21\n",
    );
    expect(await exec("find tree -newermt '1 hour ago' -name file1")).toBe("tree/deep/file1\n");
  });

  it("[FIL-04] is in the sandbox whole or not at all, and the reason is told as it is", async () => {
    await mkdir(at("bad/z"), { recursive: true });
    await writeFile(at("bad/a"), "first\n");
    await symlink("/etc/passwd", at("bad/z/link"));
    expect(await refused("cp", at("bad"), `${id}:bad`)).toMatchObject({
      code: "invalid",
      message: "cannot send 'z/link': not a file or folder",
    });
    await writeFile(at("bad/a"), Buffer.alloc(24 * MiB));
    await rm(at("bad/z"), { recursive: true });
    await exec("mkdir -p taken/bad/a");
    expect(await refused("cp", at("bad"), `${id}:taken`)).toMatchObject({ code: "conflict" });
    await exec("echo >there");
    expect(await refused("cp", at("bad"), `${id}:there/below`)).toMatchObject({
      code: expect.not.stringMatching("internal"),
    });
    await writeFile(at("bad/a"), Buffer.alloc(72 * MiB));
    expect(await refused("cp", at("bad"), `${id}:bad`)).toMatchObject({
      message: expect.not.stringContaining("reached"),
    });
    expect(await exec("ls -A; ls -A taken/bad/a")).toBe("output\ntaken\nthere\ntree\n");
  });

  it("[FIL-04] comes out as one archive, without links, set-uid and what is no file, which is said", async () => {
    await exec(
      "mkdir -p out/deep/empty out/deep/er; echo a >out/a; echo b >out/deep/er/b; chmod 4755 out/a; ln -s /etc/passwd out/link",
    );
    await exec("echo x >out/secret; chmod 0 out/secret; mkfifo out/pipe; ln out/a out/twice");
    const { code, err } = await type(["cp", `${id}:out`, at("back")]);
    expect(code).toBe(1);
    expect(err.split("\n").sort()).toEqual([
      "",
      "caisson: not copied: link: it is a link, not a file",
      "caisson: not copied: pipe: it is not a file",
      "caisson: not copied: secret: it is not readable, or was deleted during the copy",
    ]);
    expect((await readdir(at("back"), { recursive: true })).sort()).toEqual([
      ...["a", "deep", "deep/empty", "deep/er", "deep/er/b", "twice"],
    ]);
    expect((await lstat(at("back/a"))).mode & 0o7777 & process.umask()).toBe(0);
    expect((await lstat(at("back/a"))).mode & 0o7111).toBe(0o111 & ~process.umask());
    expect(await readFile(at("back/deep/er/b"), "utf8")).toBe("b\n");
    await exec("rm -rf out/secret out/pipe out/link; echo new >out/a");
    await writeFile(at("back/mine"), "stays");
    expect(await requests(() => said("cp", `${id}:out`, at("back")))).toEqual([
      "GET files",
      "GET archive",
      "GET files",
    ]);
    expect([await readFile(at("back/a"), "utf8"), await readFile(at("back/mine"), "utf8")]).toEqual(["new\n", "stays"]);
    expect(await refused("cp", `${id}:nowhere`, at("none"))).toMatchObject({ code: "not_found" });
  });

  /** What happens in the sandbox just before the archive is asked for, or when its first bytes are there. */
  const meanwhile = async (when: "before" | "during", line: string, act: () => ReturnType<typeof type>) => {
    const fetched = globalThis.fetch;
    const spy = vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
      const isArchive = new URL(String(url)).pathname.endsWith("/archive");
      if (isArchive && when === "before") await exec(line);
      const answer = await fetched(url, init);
      if (isArchive && when === "during") await exec(line);
      return answer;
    });
    try {
      return await act();
    } finally {
      spy.mockRestore();
    }
  };

  it("[FIL-04] says by name what changed while it came out, or did not come, and fails for it", async () => {
    const bytes = 40 * MiB;
    await exec(`mkdir busy; cd busy; yes | head -c ${bytes} >large; echo still >still`);
    const cp = () => type(["cp", `${id}:busy`, at("busy")]);
    const torn = await meanwhile("during", "truncate -s 0 busy/large", cp);
    expect((await readFile(at("busy/large"))).subarray(-2)).toEqual(Buffer.alloc(2)); // zeros in place of what was there
    expect(torn).toMatchObject({ code: 1, err: "caisson: changed during the copy: large\n" });
    await exec("cd busy; rm large; echo one >same; echo gone >gone; echo other >grown");
    const other = await meanwhile("before", "cd busy; echo two >same; mv gone new; echo >>grown", cp);
    expect([other.code, ...other.err.split("\n").sort()]).toEqual([
      1,
      "",
      "caisson: changed during the copy: grown",
      "caisson: changed during the copy: new",
      "caisson: changed during the copy: same",
      "caisson: not copied: gone: it is not readable, or was deleted during the copy",
    ]);
    expect(await cp()).toMatchObject({ code: 0, err: "" });
    await exec("rm -r busy");
  });

  it("[FIL-04] [SEC-02] says what it may be when a name holds the value of a secret", async () => {
    const operator = await server.as("operator");
    const path = "/api/v1/secrets/NAMED";
    await operator.put(path, "q7-Zr0-the-value", { headers: { "content-type": "text/plain" } });
    const deliver = { as: "env", variable: "TOKEN" };
    expect((await operator.post(`${path}/bindings`, { target: { sandbox_id: id }, deliver })).status).toBe(201);
    await exec("mkdir named; echo x >named/q7-Zr0-the-value");
    expect(await refused("cp", `${id}:named`, at("named"))).toMatchObject({
      code: "invalid",
      hint: expect.stringContaining("a file name may contain the value of a secret"),
    });
    expect(await readdir(at("named"))).toEqual([]);
    await operator.delete(path);
    await exec("rm -r named");
  });

  it("[FIL-04] is no bomb here: sparse files are no larger than the workspace", async () => {
    await exec("mkdir bomb; truncate -s 200M bomb/zeros"); // of a workspace of 64 MB
    expect(await refused("cp", `${id}:bomb`, at("bomb"))).toMatchObject({ code: "limit_exceeded" });
    expect(await readdir(at("bomb"))).toEqual([]);
    await exec("rm -r bomb");
  });

  it("[CLI-03] says on a terminal how far it is, in a line that goes, and nothing elsewhere", async () => {
    await mkdir(at("large"));
    await writeFile(at("large/zeros"), Buffer.alloc(8 * MiB));
    const clean = expect.stringMatching(/\r\x1b\[K$/);
    const sent = await type(["cp", at("large"), `${id}:large`], true);
    expect(sent).toMatchObject({ code: 0, out: "", err: clean });
    expect(sent.err).toMatch(/^\r\x1b\[Ksent 1 file, \d/);
    const fetched = await type(["cp", `${id}:large`, at("large-back")], true);
    expect(fetched.err).toMatch(/^\r\x1b\[Kreceived 1 file, .* of 8 MB\r/);
    expect(fetched.err).toEqual(clean);
    const one = await type(["cp", `${id}:large/zeros`, at("zeros")], true);
    expect(one.err).toMatch(/^\r\x1b\[Kreceived 1 file, .* of 8 MB/);
    expect((await lstat(at("zeros"))).size).toBe(8 * MiB);
    await said("cp", at("zeros"), `${id}:large/zeros`);
    await chmod(at("zeros"), 0o700);
    expect((await type(["cp", at("zeros"), `${id}:large/zeros`], true)).err).toMatch(/sent 1 file, .* of 8 MB/);
    expect(await exec("stat -c '%a %s' large/zeros")).toBe(`755 ${8 * MiB}\n`);
  });
});

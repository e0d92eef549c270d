import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askDaemon } from "../../packages/server/src/cli/client/client.ts";
import type { RunIo } from "../../packages/server/src/cli/run.ts";
import { loadConfiguration } from "../../packages/server/src/config/config.ts";
import { readEnvironment } from "../../packages/server/src/config/env.ts";
import { ordinary } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";

const idLine = /^[a-z0-9]{16}\n$/;

describe.skipIf(ordinary)("the command line about templates, copies and checkpoints", () => {
  let server: TestServer;
  let folder: string;
  let key: string;
  beforeAll(async () => {
    folder = await mkdtemp("/var/tmp/caisson-test-");
    server = await openTestServer("gvisor");
    key = (await server.keyring.issue({ name: "admin", namespace: "default", role: "admin" })).token;
    await writeFile(join(folder, "rows.txt"), "1\n2\n3\n");
    await writeFile(join(folder, "frame.py"), "rows = [int(n) for n in open('data/rows.txt')]\n");
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** As a user types it, up to the process around it. */
  const type = async (...words: string[]) => {
    const variables = { CAISSON_URL: server.base, CAISSON_API_KEY: key, CAISSON_HOME: folder };
    const environment = readEnvironment(variables);
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const texts = [stdout.toArray(), stderr.toArray()];
    const io = { stdin: process.stdin, stdout, stderr, terminal: { color: false } } as unknown as RunIo;
    const done = askDaemon(words, environment, () => loadConfiguration({ environment }), io);
    const code = await done.finally(() => [stdout, stderr].map((one) => one.end()));
    const [out = "", err = ""] = (await Promise.all(texts)).map((pieces) => Buffer.concat(pieces).toString());
    return { code, out, err };
  };
  const said = async (...words: string[]) => {
    const { code, out, err } = await type(...words);
    expect([code, err]).toEqual([0, ""]);
    return out;
  };
  const refused = (...words: string[]) => type(...words).catch((error: unknown) => error);

  it("[CLI-01] makes a template of files and a warm-up, and sandboxes that begin with its memory", async () => {
    const files = ["--file", `data/rows.txt=${join(folder, "rows.txt")}`, "--warm-up", join(folder, "frame.py")];
    const id = await said("template", "create", "table", "--description", "three rows", "--memory", "128M", ...files);
    expect(id).toMatch(idLine);
    expect(await said("template", "ls")).toMatch(/^NAME .*\ntable +\S+ +ready +host +gvisor +memory .*three rows\n$/);
    expect(JSON.parse(await said("template", "show", "table"))).toMatchObject({ id: id.trim(), memory_mb: 128 });
    const sandbox = (await said("create", "--template", "table")).trim();
    const session = [`session_id=${sandbox}`, "code=print(sum(rows))"];
    expect(JSON.parse(await said("tool", "execute_code", ...session))).toMatchObject({ stdout: "6\n", state: "kept" });
    expect(await refused("template", "rm", "table")).toMatchObject({ code: "conflict" });
    expect(await refused("template", "create", "table")).toMatchObject({ hint: "delete it first" });
    await said("rm", sandbox);
    expect(await said("template", "delete", "table")).toBe("");
    expect(await refused("create", "--template", "table")).toMatchObject({
      code: "not_found",
      hint: "there are none yet: caisson template create NAME",
    });
  });

  it("[CLI-01] says what is wrong with a template before, and what went wrong while it was made", async () => {
    for (const [words, message] of [
      [["Bad/Name"], "a name is of a-z"],
      [["x", "--warm-up", "README.md"], "unknown language of 'README.md'"],
      [["x", "--warm-up", join(folder, "none.py")], "(ENOENT)"],
      [["x", "--file", "a"], "--file: 'a' has no value"],
    ] as const)
      expect(await refused("template", "create", ...words)).toMatchObject({
        message: expect.stringContaining(message),
      });
    await writeFile(join(folder, "broken.py"), "1 / 0\n");
    const failed = await type("template", "create", "broken", "--warm-up", join(folder, "broken.py"));
    expect([failed.code, failed.out]).toEqual([1, ""]);
    expect(failed.err).toMatch(/^caisson: cannot build template broken: warm-up: .*ZeroDivisionError/s);
    expect(await said("template", "ls")).toContain("failed");
    await said("template", "rm", "broken");
  });

  it("[CLI-01] forks a sandbox, saves it, goes on from there, and tells what that takes", async () => {
    const original = (await said("create", "--memory", "128M")).trim();
    const run = async (sandbox: string, code: string) =>
      JSON.parse(await said("tool", "execute_code", `session_id=${sandbox}`, `code=${code}`)).stdout;
    await run(original, "x = ['before']");
    const copies = (await said("fork", original, "--count", "2")).trim().split("\n");
    expect(copies.length).toBe(2);
    const checkpoint = (await said("checkpoint", "create", original, "a good moment")).trim();
    await run(original, "x.append('after')");
    expect(await run(copies[1] ?? "", "print(x)")).toBe("['before']\n");
    const row = new RegExp(`^ID .*\\n${checkpoint} +${original} .*a good moment\\n$`);
    for (const name of ["list", "ls"]) expect(await said("checkpoint", name, "--sandbox", original)).toMatch(row);
    expect(await said("checkpoint", "list", "--sandbox", copies[0] ?? "")).toMatch(/^ID .*\n$/);
    const dry = await said("gc", "--dry-run");
    expect(dry).toMatch(new RegExp(`\\ncheckpoints \\(.*\\n.*\\n${checkpoint} .*keep +default +a good moment\\n`));
    const later = (await said("checkpoint", "restore", checkpoint)).trim();
    expect(await run(later, "print(x)")).toBe("['before']\n");
    for (const sandbox of [original, later, ...copies]) await said("rm", sandbox);
    expect(await said("checkpoint", "rm", checkpoint)).toBe("");
    for (const words of [
      ["restore", checkpoint],
      ["rm", checkpoint],
    ] as const)
      expect(await refused("checkpoint", ...words)).toMatchObject({
        code: "not_found",
        hint: "caisson checkpoint list lists checkpoints",
      });
    for (const words of [["fork"], ["checkpoint", "create"], ["inspect"]])
      expect(await refused(...words, original)).toMatchObject({ hint: "caisson ls lists sandboxes" });
  });

  it("[CLI-01] explains each of its commands, one by one and together, with examples that work", async () => {
    expect(await said("checkpoint", "--help")).toMatch(
      /^usage: caisson checkpoint create SANDBOX \[NAME\] +save a running sandbox/,
    );
    expect(await said("template", "create", "--help")).toContain("\nExamples:\n  caisson template create sales ");
  });
});

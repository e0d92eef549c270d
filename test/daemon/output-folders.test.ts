import { existsSync } from "node:fs";
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines, ordinary } from "../harness.ts";
import { openTestEngineServer } from "./engine-server.ts";
import { caisson, Up, upTimeoutMs } from "./up.ts";

const stranger = 54_321;

describe("output folders that the operator names", { timeout: upTimeoutMs }, () => {
  let outside: string;
  let up: Up;
  const at = (...names: string[]) => join(outside, ...names);

  beforeAll(async () => {
    outside = await mkdtemp("/var/tmp/caisson-folders-");
    for (const name of ["results", "swapped", "elsewhere", "given"]) await mkdir(at(name));
    if (!ordinary) await chown(at("results"), stranger, stranger);
    await chmod(at("results"), 0o700);
    const named = (names: string[]) => names.map((name) => `${name}=${at(name)}`).join(",");
    up = await Up.start({
      variables: { CAISSON_FOLDERS_OUTPUT: named(["results", "swapped"]), CAISSON_FOLDERS_INPUT: named(["given"]) },
    });
  }, upTimeoutMs);
  afterAll(async () => {
    await up[Symbol.asyncDispose]();
    await rm(outside, { recursive: true });
  }, upTimeoutMs);

  const create = async (body: object): Promise<{ status: number; text: string; id: string }> => {
    const answer = await up.fetch("/api/v1/sandboxes", { storage_mb: 64, ...body });
    const text = await answer.text();
    return { status: answer.status, text, id: JSON.parse(text).id ?? "" };
  };
  const made = async (folder: string, engine = "container"): Promise<string> => {
    const { status, text, id } = await create({ engine, output_folder: folder });
    expect(status, text).toBe(201);
    expect(text).not.toContain(outside);
    return id;
  };
  const destroy = async (id: string) => expect(await up.delete(`/api/v1/sandboxes/${id}`)).toBe(204);
  const told = async (id: string): Promise<{ type: string; detail: Record<string, unknown> }[]> => {
    const answer = await up.fetch(`/api/v1/audit?sandbox_id=${id}&limit=100`);
    const entries = (await answer.json()) as Awaited<ReturnType<typeof told>>;
    return entries.filter(({ type }) => type.startsWith("output."));
  };

  it.each(engines)(
    "[FIL-08] get what a sandbox left, as their owner's files, when it is destroyed (%s)",
    async (engine) => {
      const id = await made("results", engine);
      await up.exec(
        id,
        "mkdir -p output/deep/er; echo out > output/a.txt; echo more > output/deep/er/b; echo no > secret",
      );
      await destroy(id);
      expect(await readFile(at("results", id, "a.txt"), "utf8")).toBe("out\n");
      expect(await readFile(at("results", id, "deep/er/b"), "utf8")).toBe("more\n");
      expect((await readdir(at("results", id))).sort()).toEqual(["a.txt", "deep"]);
      const owner = ordinary ? process.geteuid?.() : stranger;
      for (const name of ["", "a.txt", "deep", "deep/er/b"])
        expect(await lstat(at("results", id, name)), name).toMatchObject({ uid: owner });
      const detail = { folder: "results", files: 2, bytes: 9, skipped: 0, whole: true };
      expect(await told(id)).toMatchObject([{ type: "output.copied", detail }]);
    },
  );

  it("[FIL-08] get it when the sandbox is stopped and reset too, each time as it is then", async () => {
    const id = await made("results");
    await up.exec(id, "echo one > output/a; echo kept > output/b");
    expect((await up.fetch(`/api/v1/sandboxes/${id}/stop`, {})).status).toBe(200);
    expect(await readFile(at("results", id, "a"), "utf8")).toBe("one\n");
    await up.exec(id, "echo two > output/a; rm output/b");
    expect((await up.fetch(`/api/v1/sandboxes/${id}/reset`, {})).status).toBe(200);
    expect(await readFile(at("results", id, "a"), "utf8")).toBe("two\n");
    expect(await readFile(at("results", id, "b"), "utf8")).toBe("kept\n");
    await destroy(id);
    expect(await readFile(at("results", id, "a"), "utf8")).toBe("two\n");
  });

  it.each(engines)("[FIL-08] get nothing but plain files and folders of it (%s, hazards 1, 33)", async (engine) => {
    const id = await made("results", engine);
    const hostile = [
      "cd output; echo fine > fine; ln -s /etc/passwd link; ln -s ../.. up; mkfifo pipe",
      "printf '#!/bin/sh\\n' > tool; chmod 6777 tool",
      "truncate -s 1T bomb",
      "printf x > $'two\\nlines'; printf x > $'\\x1b[2Jclear'; printf x > $'\\xff\\xfe'; printf x > .caisson-part",
      "mkdir sub; ln -s /etc sub/etc; mkdir -m 0 closed",
      "d=.; for i in $(seq 70); do d=$d/d; done; mkdir -p $d; echo deep > $d/file",
    ];
    await up.exec(id, `bash -c ${JSON.stringify(hostile.join("; ")).replaceAll("$", "\\$")}`);
    await destroy(id);
    expect((await readdir(at("results", id))).sort()).toEqual(["d", "fine", "sub", "tool"]);
    expect(await readdir(at("results", id, "sub"))).toEqual([]);
    expect((await lstat(at("results", id, "tool"))).mode & 0o7777).toBe(0o644);
    expect(existsSync(at("results", id, ...Array(64).fill("d")))).toBe(true);
    expect(existsSync(at("results", id, ...Array(65).fill("d")))).toBe(false);
    const [{ detail } = { detail: {} }] = await told(id);
    // Two links, the sparse file, four names, a link below, a closed folder, what lies too deep; gVisor's pipe is not on the host.
    expect(detail).toMatchObject({ files: 2, skipped: engine === "gvisor" ? 10 : 11 });
  });

  it("[FIL-08] are not left through links that wait in them, by whoever may write there", async () => {
    const id = await made("results");
    await up.exec(id, "mkdir output/sub; echo new > output/file; echo new > output/sub/file");
    await mkdir(at("results", id));
    await symlink(at("elsewhere"), at("results", id, "sub"));
    await symlink(at("elsewhere", "file"), at("results", id, "file"));
    if (!ordinary) await chown(at("results", id), stranger, stranger);
    await destroy(id);
    expect(await readdir(at("elsewhere"))).toEqual([]);
    expect(await readFile(at("results", id, "file"), "utf8")).toBe("new\n");
    expect((await lstat(at("results", id, "file"))).isFile()).toBe(true);
    expect((await lstat(at("results", id, "sub"))).isSymbolicLink()).toBe(true);

    const other = await made("results");
    await up.exec(other, "echo new > output/file");
    await symlink(at("elsewhere"), at("results", other));
    await destroy(other);
    expect(await readdir(at("elsewhere"))).toEqual([]);
    expect(await told(other)).toMatchObject([{ type: "output.failed", detail: { folder: "results" } }]);
  });

  it("[FIL-08] are not followed where a link takes their place; the sandbox ends all the same, and the log says what was lost", async () => {
    const id = await made("swapped");
    await up.exec(id, "echo out > output/file");
    await rename(at("swapped"), at("aside"));
    await symlink(at("elsewhere"), at("swapped"));
    try {
      const refused = await create({ engine: "container", output_folder: "swapped" });
      expect(refused.status, refused.text).toBe(503);
      await destroy(id);
    } finally {
      await unlink(at("swapped"));
      await rename(at("aside"), at("swapped"));
    }
    expect(await readdir(at("elsewhere"))).toEqual([]);
    expect(await readdir(at("swapped"))).toEqual([]);
    const [entry] = await told(id);
    expect(entry).toMatchObject({ type: "output.failed", detail: { folder: "swapped" } });
    expect(JSON.stringify(entry)).not.toContain(outside);
  });

  it("have names of their own: neither another folder's nor a path is one", async () => {
    for (const [name, status] of [
      ["given", 404],
      ["nowhere", 404],
      ["/etc", 400],
      ["../results", 400],
    ] as const)
      expect((await create({ engine: "container", output_folder: name })).status, name).toBe(status);
    expect((await create({ engine: "container", input_folder: "results" })).status).toBe(404);
  });

  it("are chosen by the command too", async () => {
    const outcome = await caisson(["create", "--engine", "container", "--output", "results"], up.variables);
    expect(outcome, outcome.stderr).toMatchObject({ code: 0 });
    const id = outcome.stdout.trim();
    await up.exec(id, "echo x > output/x");
    await destroy(id);
    expect(await readdir(at("results", id))).toEqual(["x"]);
  });

  it("are refused when the daemon starts where programs or credentials lie", async () => {
    const home = at("home");
    await mkdir(home);
    await mkdir(at("user/.ssh"), { recursive: true });
    for (const [path, why] of [
      ["/usr/local/bin", /belongs to the system/],
      [at("user"), /contains credentials/],
    ] as const) {
      const refused = await caisson(["up"], { CAISSON_HOME: home, CAISSON_FOLDERS_OUTPUT: `out=${path}` });
      expect(refused, refused.stderr).toMatchObject({ code: 125, stdout: "" });
      expect(refused.stderr).toMatch(why);
    }
  });
});

describe("an engine that is asked to copy into a folder", { timeout: upTimeoutMs }, () => {
  it("[FIL-08] follows no link that appears in the path after it was looked at, and knows no other name", async () => {
    const outside = await mkdtemp("/var/tmp/caisson-folders-");
    await mkdir(join(outside, "above/results"), { recursive: true });
    await mkdir(join(outside, "secret/results"), { recursive: true });
    let looks = 0;
    const check = async () => {
      if (++looks === 1) return; // it is created
      await rename(join(outside, "above"), join(outside, "before"));
      await symlink("secret", join(outside, "above"));
    };
    const output = [{ id: "results", path: join(outside, "above/results") }];
    try {
      await using host = await openTestEngineServer(undefined, { input: [], output, check });
      await using owner = await host.open();
      await using sandbox = await owner.createSandbox({ engine: "container", outputFolder: "results" });
      await sandbox.exec({ command: "echo x > output/x" });
      const refused = await sandbox.copyOutput("results").catch((error: unknown) => error);
      expect(String(refused)).toContain("cannot open the output folder");
      expect(String(refused)).not.toContain(outside);
      expect(await readdir(join(outside, "secret/results"))).toEqual([]);
      await expect(sandbox.copyOutput("others")).rejects.toMatchObject({ code: "not_found" });
    } finally {
      await rm(outside, { recursive: true });
    }
  });
});

import { existsSync, globSync, readFileSync } from "node:fs";
import { chmod, chown, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ordinary } from "../harness.ts";
import { connectStdio, openStdioHome } from "../mcp/stdio-program.ts";
import { caisson, Up, upTimeoutMs } from "./up.ts";

interface Ran {
  exit_code: number | null;
  stdout: string;
  stderr: string;
}

/** A tool's result, or why it has none. */
async function call<T>(up: Up, name: string, args: object): Promise<T> {
  const answer = await up.fetch(`/api/v1/tools/${name}`, args);
  const told = (await answer.json()) as { result?: T; detail?: string };
  if (told.result === undefined) throw new Error(told.detail);
  return told.result;
}

const run = (up: Up, ...command: string[]) => call<Ran>(up, "host_exec", { command });

const pidsOf = (file: string) =>
  globSync("/proc/[0-9]*/cmdline").filter((path) => {
    try {
      return readFileSync(path, "utf8").includes(file);
    } catch {
      return false; // it has ended
    }
  });

const userOf = (name: string) =>
  Number(
    readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .find((row) => row.startsWith(`${name}:`))
      ?.split(":")[2],
  );

describe("a daemon whose operator has not opened the host", { timeout: upTimeoutMs }, () => {
  it("[HST-01] has no process for it, and tools that refuse", async () => {
    await using up = await Up.start();
    expect((await up.status()).host).toBeNull();
    expect(pidsOf(`${up.home}/app`).filter((path) => readFileSync(path, "utf8").includes("host.mjs"))).toEqual([]);
    await expect(run(up, "id", "-u")).rejects.toThrow("host access is disabled");
  });

  it.each([
    [{ CAISSON_HOST_ALLOW: "* x" }, "does not name a program"],
    [{ CAISSON_HOST_BLOCKED: "rm | x" }, "not supported: no shell runs this command"],
    [{ CAISSON_HOST_READ: "/nowhere-at-all" }, "cannot be opened"],
    [{ CAISSON_HOST_READ: "/" }, "contains Caisson's data folder"],
    [{ CAISSON_HOST_WRITE: "/proc" }, "belongs to the kernel"],
    [{ CAISSON_HOST_RUN_AS: "root" }, "as root"],
    [{ CAISSON_HOST_RUN_AS: "no-such-user" }, "unknown user"],
  ])("does not start with %j", async (variables, why) => {
    const home = await mkdtemp("/var/tmp/caisson-up-");
    const { code, stderr } = await caisson(["up"], { CAISSON_HOME: home, CAISSON_HOST_ENABLED: "true", ...variables });
    expect(`${code} ${stderr}`).toContain(why);
    expect(code).not.toBe(0);
    await rm(home, { recursive: true });
  });
});

describe("a daemon whose operator has opened the host", { timeout: upTimeoutMs }, () => {
  let up: Up;
  let folder: string;
  beforeAll(async () => {
    folder = await realpath(await mkdtemp("/var/tmp/caisson-host-"));
    await writeFile(join(folder, "rows.csv"), "a,b\n", { mode: 0o644 });
    await chmod(folder, 0o755);
    const variables = {
      CAISSON_HOST_ENABLED: "true",
      CAISSON_HOST_ALLOW: "id *,id -u,id -G,echo *,cat **,ls **,kill **,sleep *,sh -c *",
      CAISSON_HOST_BLOCKED: "echo secret*",
      CAISSON_HOST_READ: folder,
    };
    up = await Up.start({ variables });
  }, upTimeoutMs);
  afterAll(async () => {
    await up[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  }, upTimeoutMs);

  it("[HST-02] runs commands as its own user, in a process of their own", async () => {
    const { daemon, host } = await up.status();
    expect(await run(up, "id", "-u")).toMatchObject({ exit_code: 0, stdout: `${daemon?.uid}\n` });
    expect(host?.uid).toBe(daemon?.uid);
    expect((await run(up, "echo", "a; id", "$HOME")).stdout).toBe("a; id $HOME\n");
    await expect(run(up, "echo", "secrets")).rejects.toThrow("blocks it");
    await expect(run(up, "whoami")).rejects.toThrow("no pattern allows it");
  });

  it.skipIf(ordinary)("[HST-02] keeps them from the daemon's process, files and rights", async () => {
    const { daemon, pid } = await up.status();
    for (const other of [daemon?.pid, pid])
      for (const name of ["cmdline", "environ", "root/etc/hostname", "maps"])
        expect((await run(up, "cat", `/proc/${other}/${name}`)).exit_code).not.toBe(0);
    expect((await run(up, "sh", "-c", `kill -0 ${daemon?.pid}`)).exit_code).not.toBe(0);
    for (const place of [up.home, join(up.home, "daemon"), "/run/caisson/home/daemon", "/run/caisson/home/run"])
      expect((await run(up, "ls", place)).exit_code).not.toBe(0);
    const status = (await run(up, "cat", "/proc/self/status")).stdout;
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(status).toMatch(/^CapPrm:\s+0+$/m);
    expect(status).toMatch(/^CapBnd:\s+0+$/m);
    expect((await run(up, "id", "-G")).stdout.trim().split(" ")).toHaveLength(1);
    // The way to the daemon is not inherited.
    expect((await run(up, "ls", "/proc/self/fd")).stdout.trim().split("\n")).toHaveLength(4);
  });

  it("[HST-03] reads files that its user may read, in open folders", async () => {
    expect(await call(up, "host_file_read", { path: join(folder, "rows.csv") })).toMatchObject({ content: "a,b\n" });
    await expect(call(up, "host_file_read", { path: "/etc/hostname" })).rejects.toThrow("is not in an open folder");
    await expect(call(up, "host_file_write", { path: join(folder, "x"), content: "" })).rejects.toThrow(
      "is in a read-only folder",
    );
  });

  it("[HST-02] goes on with a new process when that one is killed", async () => {
    const before = await up.status();
    process.kill(before.host?.pid ?? 0, "SIGKILL");
    const after = await up.waitForRestart(before);
    expect(after.host?.pid).not.toBe(before.host?.pid);
    expect((await run(up, "id", "-u")).exit_code).toBe(0);
  });

  it.skipIf(ordinary)("leaves no command behind when its process ends, even by force", async () => {
    const mark = `603.${process.pid}`;
    const sleeping = run(up, "sh", "-c", `setsid sleep ${mark} & sleep ${mark}`);
    sleeping.catch(() => undefined);
    await vi.waitFor(() => expect(pidsOf(`sleep\0${mark}\0`)).toHaveLength(2), 20_000);
    const before = await up.status();
    process.kill(before.host?.pid ?? 0, "SIGKILL");
    await up.waitForRestart(before);
    await vi.waitFor(() => expect(pidsOf(`sleep\0${mark}\0`)).toEqual([]), 20_000);
  });

  it("[CLI-01] is used from the command line, with the same result", async () => {
    const host = (...args: string[]) => caisson(["host", ...args], up.variables);
    expect(await host("exec", "echo 'a b'")).toMatchObject({ code: 0, stdout: "a b\n" });
    expect(await host("exec", "sh", "-c", "echo wrong >&2; exit 3")).toMatchObject({ code: 3, stderr: "wrong\n" });
    expect((await host("exec", "whoami")).stderr).toContain("request_host_access");
    expect(await host("read", join(folder, "rows.csv"))).toMatchObject({ code: 0, stdout: "a,b\n" });
    expect((await host("list", folder)).stdout).toContain("rows.csv");
    expect((await host("write", join(folder, "x"), "text")).stderr).toContain("is in a read-only folder");
    expect((await host("access", "list")).stdout).toContain("blocked");
    expect((await host("access", "request", "uname *", "--reason", "to know")).stdout).toMatch(/^apr_\S+ pending\n$/);
    const copied = await host("copy", join(folder, "rows.csv"), "in.csv", "--session", "one");
    expect(copied.stdout).toContain(":/workspace/in.csv");
  });
});

describe.skipIf(ordinary)("a daemon with host.run_as", { timeout: upTimeoutMs }, () => {
  it("[HST-02] does things as that user, which is in no way the daemon's", async () => {
    const folder = await realpath(await mkdtemp("/var/tmp/caisson-host-"));
    const uid = userOf("nobody");
    await chown(folder, uid, uid);
    const variables = {
      CAISSON_HOST_ENABLED: "true",
      CAISSON_HOST_RUN_AS: "nobody",
      CAISSON_HOST_ALLOW: "id -u,ls **,cat **",
      CAISSON_HOST_WRITE: folder,
    };
    await using up = await Up.start({ variables });
    const { daemon, host } = await up.status();
    expect(await run(up, "id", "-u")).toMatchObject({ stdout: `${uid}\n` });
    expect(host?.uid).toBe(uid);
    expect(daemon?.uid).not.toBe(uid);
    expect((await run(up, "ls", up.home)).exit_code).not.toBe(0);
    expect((await run(up, "cat", `/proc/${daemon?.pid}/environ`)).exit_code).not.toBe(0);
    await call(up, "host_file_write", { path: join(folder, "note"), content: "hello" });
    expect(await readFile(join(folder, "note"), "utf8")).toBe("hello");
    expect(existsSync(join(folder, "note"))).toBe(true);
    await rm(folder, { recursive: true });
  });
});

describe.skipIf(ordinary)("root's `caisson mcp` without a daemon", () => {
  it("[HST-01] keeps the host closed: things would be done on it as root", async () => {
    await using place = await openStdioHome("container");
    const variables = { ...place.variables, CAISSON_HOST_ENABLED: "true", CAISSON_HOST_ALLOW: "id -u" };
    const { client, transport, told } = await connectStdio(variables, "2025-11-25");
    await client.connect(transport);
    const { isError, content } = await client.callTool({ name: "host_exec", arguments: { command: "id -u" } });
    expect(isError).toBe(true);
    expect(JSON.stringify(content)).toContain("host access is disabled");
    expect(told()).toContain("the host stays closed");
    await client.close();
  });
});

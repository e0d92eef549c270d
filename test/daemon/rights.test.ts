import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync, readlinkSync } from "node:fs";
import { chown, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCaisson } from "../../packages/server/src/app.ts";
import { engines, ordinary, root } from "../harness.ts";
import { processesOf } from "../leaks.ts";
import { runOnHost } from "../security/host-run.ts";
import { openTestEngineServer } from "./engine-server.ts";
import { Up, upTimeoutMs } from "./up.ts";

const script = readFileSync(join(import.meta.dirname, "attempts.cjs"), "utf8");
const limits = { memoryBytes: 64 * 1024 ** 2, cpus: 1, cpuShares: 1024, processes: 8, storageBytes: 16 * 1024 ** 2 };
const helper = join(root, ".build/bin/caisson-helper");

/** The process that has a file open. */
function holderOf(path: string): number | undefined {
  const isHeld = (fd: string) => {
    try {
      return readlinkSync(fd) === path;
    } catch {
      return false; // closed meanwhile
    }
  };
  return globSync("/proc/[0-9]*/fd/*")
    .filter(isHeld)
    .map((fd) => Number(fd.split("/")[2]))[0];
}

describe.skipIf(ordinary)("the daemon's user", { timeout: upTimeoutMs }, () => {
  let up: Up;
  beforeAll(async () => {
    up = await Up.start();
  }, upTimeoutMs);
  afterAll(async () => {
    await up[Symbol.asyncDispose]();
  }, upTimeoutMs);

  it.each(engines)(
    "[SBX-19] can use a sandbox's wire, and do nothing else to it or its engine (%s)",
    async (engine) => {
      const id = await up.create(engine);
      const { daemon, engine: engineProcess, pid } = await up.status();
      const [sandboxPid = 0] = processesOf(id);
      const pids = [
        ["a process of the sandbox", sandboxPid],
        ["the engine", engineProcess?.pid],
        ["its helper", holderOf(join(up.home, "engine/sandboxes", id, "lock"))],
        ["who keeps it alive", pid],
      ];
      const cgroup = globSync(`/sys/fs/cgroup/**/*-${id}`)[0];
      const told = JSON.stringify({ id, home: up.home, pids, sandboxPid, cgroup });
      const node = readFileSync(`/proc/${daemon?.pid}/cmdline`, "utf8").split("\0")[0] ?? "";
      const { gid } = await stat(join(up.home, "daemon"));
      const ids = [String(daemon?.uid), String(gid)];
      const seen = await runOnHost([helper, "become", ...ids, up.home, node, "-e", script, told]);
      expect(seen.stderr).toBe("");
      const { refused, allowed } = JSON.parse(seen.stdout) as Record<string, Record<string, string>>;
      const refusals = ["EACCES", "EPERM", "EROFS", "status 1", "status 32"];
      expect(Object.entries(refused ?? {}).filter(([, how]) => !refusals.includes(how))).toEqual([]);
      expect(Object.keys(refused ?? {}).length).toBeGreaterThan(25);
      expect(Object.entries(allowed ?? {}).filter(([, how]) => how !== "done")).toEqual([]);
      expect(await up.exec(id, "echo fine")).toBe("fine\n");
    },
  );

  it.each(engines)("[SBX-19] owns both FIFOs of a sandbox, and no other does (%s)", async (engine) => {
    const id = await up.create(engine);
    const { daemon } = await up.status();
    for (const name of ["to-guest", "from-guest"]) {
      const info = await stat(join(up.home, "engine/sandboxes", id, "wire", name));
      expect([info.isFIFO(), info.uid, info.mode & 0o777]).toEqual([true, daemon?.uid, 0o600]);
    }
  });

  it("[SBX-19] has sandboxes that root neither attaches to nor starts without it", async () => {
    const id = await up.create("container");
    await up.stop();
    await using other = openCaisson({ home: up.home, root });
    await expect(other.attachSandbox(id)).rejects.toMatchObject({ code: "forbidden" });
    await other.destroySandbox(id);
  });
});

describe.skipIf(ordinary)("what a daemon puts into its part of a sandbox", { timeout: upTimeoutMs }, () => {
  it("[SBX-19] leads root nowhere when the sandbox is destroyed", async () => {
    const owner = { uid: 4_242_424, gid: 4_242_424 };
    const victim = await mkdtemp("/var/tmp/caisson-victim-");
    await writeFile(join(victim, "precious"), "");
    {
      await using test = await openTestEngineServer(owner);
      await using client = await test.connect();
      const engine = await client.open("container");
      for (let round = 0; round < 5; round++) {
        const { id, ownerFolder } = await engine.create({ limits });
        await mkdir(join(ownerFolder, "a/b/c"), { recursive: true });
        await symlink(victim, join(ownerFolder, "link"));
        for (const path of ["a", "a/b", "a/b/c"]) await chown(join(ownerFolder, path), owner.uid, owner.gid);
        const swapper = spawn("/bin/sh", ["-c", swap], {
          cwd: ownerFolder,
          stdio: ["ignore", "pipe", "ignore"],
          ...owner,
        });
        await once(swapper.stdout, "data");
        // What is moved while it is removed may hinder that; it is tried again then.
        for (let tries = 0; ; tries++) {
          const failure = await engine.destroy(id).catch((error: unknown) => error);
          if (failure === undefined) break;
          if (tries === 3) swapper.kill("SIGKILL");
        }
        swapper.kill("SIGKILL");
      }
    }
    expect(await readdir(victim)).toEqual(["precious"]);
    await rm(victim, { recursive: true });
  });
});

/** A folder that is a link to another's at every second look. */
const swap = "echo go; while mv a d && mv link a && mv a link && mv d a; do :; done";

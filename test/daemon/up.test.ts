import { cp, mkdir, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines, ordinary, root } from "../harness.ts";
import { findLeaks, processesOf, readIfThere } from "../leaks.ts";
import { connectStdio } from "../mcp/stdio-program.ts";
import { caisson, freePort, Up, upTimeoutMs } from "./up.ts";

const field = (pid: number, name: string) =>
  new RegExp(`^${name}:[ \\t]*(.*)$`, "m").exec(readIfThere(`/proc/${pid}/status`))?.[1]?.trim();

describe("caisson up", { timeout: upTimeoutMs }, () => {
  let up: Up;
  beforeAll(async () => {
    up = await Up.start();
  }, upTimeoutMs);
  afterAll(async () => {
    await up[Symbol.asyncDispose]();
  }, upTimeoutMs);

  it("[IDN-03] prints its address and a one-time link, and writes the administrator's key for its user alone", async () => {
    expect(up.said).toContain(`${up.base}/setup?token=`);
    const key = join(up.home, "admin-key");
    expect((await stat(key)).mode & 0o777).toBe(0o600);
    expect((await stat(key)).uid).toBe(process.geteuid?.());
    expect((await fetch(`${up.base}/readyz`)).status).toBe(200);
    expect((await fetch(`${up.base}/api/v1/sandboxes`)).status).toBe(401);
    expect((await up.fetch("/api/v1/sandboxes")).status).toBe(200);
  });

  it("[MCP-01] serves caisson mcp of its data folder, with the key that its user names or else the administrator's", async () => {
    const made = await caisson(["keys", "create", "--role", "viewer", "looker"], up.variables);
    const ask = async (variables: object) => {
      const { client, transport } = await connectStdio({ ...up.variables, ...variables }, "2026-07-28");
      await client.connect(transport);
      const { content } = await client.callTool({ name: "write_file", arguments: { path: "a", content: "a" } });
      await client.close();
      return JSON.stringify(content);
    };
    expect(await ask({})).toContain("sandbox_id");
    expect(await ask({ CAISSON_API_KEY: made.stdout.trim() })).toContain("the role viewer does not permit this");
  });

  it.skipIf(ordinary)(
    "[SBX-19] runs the daemon without root, groups or a capability, and the engine as root",
    async () => {
      const { daemon, engine } = await up.status();
      const pid = daemon?.pid ?? 0;
      expect(field(pid, "Uid")).toMatch(/^(\d+)\t\1\t\1\t\1$/);
      expect(field(pid, "Uid")).not.toMatch(/^0\t/);
      expect(Number(field(pid, "Uid")?.split("\t")[0])).toBe(daemon?.uid);
      expect(field(pid, "Groups")).toBe("");
      for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
        expect(field(pid, set)).toBe("0000000000000000");
      expect(field(pid, "NoNewPrivs")).toBe("1");
      expect(field(engine?.pid ?? 0, "Uid")).toMatch(/^0\t0/);
    },
  );

  it("refuses a second one of the same data folder, and a port that is taken, with one line each", async () => {
    const second = await caisson(["up"], up.variables);
    expect(second).toMatchObject({ code: 125, stdout: "" });
    expect(second.stderr).toContain(`a daemon is already running for ${up.home}`);
    const home = await mkdtemp("/var/tmp/caisson-up-");
    const taken = await caisson(["up"], { ...up.variables, CAISSON_HOME: home });
    await rm(home, { recursive: true });
    expect(taken).toMatchObject({ code: 125, stdout: "" });
    expect(taken.stderr).toMatch(/^caisson: port \d+ on 127.0.0.1 is already in use\n.*CAISSON_PORT.*\n$/);
  });

  it("[IDN-03] refuses to listen where others can reach it unless told to", async () => {
    const home = await mkdtemp("/var/tmp/caisson-up-");
    const refused = await caisson(["up"], { CAISSON_HOME: home, CAISSON_LISTEN: "0.0.0.0" });
    await rm(home, { recursive: true });
    expect(refused).toMatchObject({ code: 125, stdout: "" });
    expect(refused.stderr).toContain("listen_without_tls");
  });
});

describe.each(engines)("sandboxes of a daemon (%s)", { timeout: upTimeoutMs }, (engine) => {
  it("[SBX-16] live on when it, or its engine, is killed, and are found by the next", async () => {
    await using up = await Up.start();
    const id = await up.create(engine);
    await up.exec(id, "echo kept > note");
    const first = await up.status();
    process.kill(first.daemon?.pid ?? 0, "SIGKILL");
    const second = await up.waitForRestart(first);
    expect(second.engine?.pid).toBe(first.engine?.pid);
    expect(await up.exec(id, "cat note")).toBe("kept\n");
    process.kill(second.engine?.pid ?? 0, "SIGKILL");
    const third = await up.waitForRestart(second);
    expect(third.engine?.pid).not.toBe(second.engine?.pid);
    expect(await up.exec(id, "cat note; echo more > other")).toBe("kept\n");
    expect((await up.stop()).code).toBe(0);
    expect(processesOf(id).length).toBeGreaterThan(0);
    await using again = await Up.start({ home: up.home, variables: up.variables });
    expect(again.said).not.toContain("token=");
    expect(await again.exec(id, "cat other")).toBe("more\n");
    const { fetch } = globalThis;
    const key = (await readFile(join(up.home, "admin-key"), "utf8")).trim();
    await fetch(`${again.base}/api/v1/sandboxes/${id}`, { method: "DELETE", headers: { "x-api-key": key } });
    await again.stop();
    expect(findLeaks(up.home)).toEqual([]);
  });
});

describe("caisson up, down and status", { timeout: upTimeoutMs }, () => {
  it.skipIf(ordinary)("[SBX-19] work in a closed data folder and from a closed checkout", async () => {
    await caisson(["--version"], {}); // builds what is to be copied
    const above = await mkdtemp("/var/tmp/caisson-closed-");
    const home = join(above, "home");
    const checkout = join(above, "checkout");
    await mkdir(home, { mode: 0o700 });
    await mkdir(join(checkout, ".build"), { recursive: true, mode: 0o700 });
    for (const name of ["app", "bin"])
      await cp(join(root, ".build", name), join(checkout, ".build", name), { recursive: true });
    const program = [process.execPath, join(checkout, ".build/app/caisson.mjs")];
    {
      await using up = await Up.start({ home, program, variables: { CAISSON_ROOT: checkout } });
      const id = await up.create("container");
      expect(await up.exec(id, "echo seen")).toBe("seen\n");
      for (const folder of [above, home, checkout]) expect((await stat(folder)).mode & 0o777).toBe(0o700);
    }
    await rm(above, { recursive: true });
  });

  it("go into the background and come down when asked", async () => {
    const home = await mkdtemp("/var/tmp/caisson-up-");
    const variables = { CAISSON_HOME: home, CAISSON_PORT: String(await freePort()), CAISSON_POOL_SIZE: "0" };
    expect(await caisson(["status"], variables)).toMatchObject({ code: 1 });
    const started = await caisson(["up", "--detach"], variables);
    expect(started).toMatchObject({ code: 0, stderr: "" });
    const base = /http:\S+:\d+/.exec(started.stdout)?.[0];
    expect((await fetch(`${base}/healthz`)).status).toBe(200);
    const { stdout } = await caisson(["status", "--json"], variables);
    const { pid, daemon, engine } = JSON.parse(stdout);
    expect(await caisson(["down"], variables)).toMatchObject({ code: 0 });
    expect(await caisson(["status"], variables)).toMatchObject({ code: 1 });
    await expect(fetch(`${base}/healthz`)).rejects.toThrow();
    for (const gone of [pid, daemon.pid, engine.pid])
      while (/^State:\s*[^ZX]/m.test(readIfThere(`/proc/${gone}/status`))) await sleep(20);
    expect(findLeaks(home)).toEqual([]);
    await rm(home, { recursive: true });
  });

  it("[LIF-01] come down once a run that goes on has ended, and its caller has its answer", async () => {
    await using up = await Up.start();
    const id = await up.create("container");
    const running = up.exec(id, "sleep 3; echo ended");
    const busy = async () => ((await (await up.fetch("/api/v1/queue")).json()) as { running: number }).running > 0;
    while (!(await busy())) await sleep(10);
    expect(await caisson(["down"], up.variables)).toMatchObject({ code: 0 });
    expect(await running).toBe("ended\n");
    await expect(fetch(`${up.base}/healthz`)).rejects.toThrow();
  });

  it("leave no process behind when the one that keeps them alive is killed", async () => {
    await using up = await Up.start();
    const { daemon, engine } = await up.status();
    up.kill();
    await up.ended;
    for (const gone of [daemon?.pid, engine?.pid])
      while (/^State:\s*[^ZX]/m.test(readIfThere(`/proc/${gone}/status`))) await sleep(20);
    await using again = await Up.start({ home: up.home, variables: up.variables });
    expect((await again.status()).ready).toBe(true);
  });
});

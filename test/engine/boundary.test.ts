import { execFileSync } from "node:child_process";
import { constants, readFileSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { idPool, processesOf } from "../leaks.ts";
import { engineNames, limits, makeHome, openEngine, Puppet, uidsOf } from "./fixture.ts";

/** Node cannot ask a pipe for its size. */
function pipeBytes(path: string): number {
  const code = "import fcntl,os,sys; print(fcntl.fcntl(os.open(sys.argv[1], os.O_RDWR | os.O_NONBLOCK), 1032))";
  return Number(execFileSync("/usr/bin/python3", ["-c", code, path], { encoding: "utf8" }));
}

const slotOf = (uid: number) => Math.floor((uid - idPool.firstId) / idPool.idsPerSlot);

describe.each(engineNames)("the host processes of engine %s", (name) => {
  it("[SBX-03] have uids of their sandbox's range, which no other sandbox shares (hazard 11)", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const sandboxes = await Promise.all([engine.create({ limits }), engine.create({ limits })]);
    const slots = sandboxes.map(({ id }) => {
      const uids = processesOf(id).flatMap(uidsOf);
      expect(uids.length).toBeGreaterThan(0);
      return new Set(uids.map(slotOf));
    });
    for (const of of slots) expect(of.size).toBe(1);
    const [first, second] = slots.flatMap((of) => [...of]);
    expect(first).not.toBe(second);
    expect(first).toBeGreaterThanOrEqual(0);
    expect(first).toBeLessThan(idPool.slots);
  });
});

describe.each(engineNames)("the wire of engine %s", (name) => {
  it("belongs to the owner named, and to nobody else (hazard 3)", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home, { owner: { uid: 4242, gid: 4243 } });
    const sandbox = await engine.create({ limits });
    for (const path of [sandbox.toGuestPath, sandbox.fromGuestPath]) {
      const info = statSync(path);
      expect([info.uid, info.gid, info.mode & 0o7777]).toEqual([4242, 4243, 0o600]);
      expect(info.isFIFO()).toBe(true);
    }
  });

  it("stays non-blocking for the owner when the guest makes its own end blocking (hazard 4)", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    using puppet = new Puppet(await engine.create({ limits }));
    await puppet.run("os.set_blocking(0, True)");
    await puppet.run("os.set_blocking(1, True)");
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${puppet.toGuest}`, "utf8"))?.[1];
    expect(Number.parseInt(flags ?? "0", 8) & constants.O_NONBLOCK).toBe(constants.O_NONBLOCK);
  });

  it("has pipes of full size, also for an owner whose own budget is used up (hazard 30)", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home, { owner: { uid: 4242, gid: 4243 } });
    const sandbox = await engine.create({ limits });
    expect([sandbox.toGuestPath, sandbox.fromGuestPath].map(pipeBytes)).toEqual([1024 * 1024, 1024 * 1024]);
  });

  it("can be opened again and goes on after the first owner has closed it", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const sandbox = await engine.create({ limits });
    {
      using first = new Puppet(sandbox);
      expect(await first.run("6 * 7")).toBe(42);
    }
    using second = new Puppet(sandbox);
    expect(await second.run("6 * 8")).toBe(48);
  });
});

describe.each(engineNames)("inside engine %s", (name) => {
  it("the root is read-only, the workspace, home and /tmp are not", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    using puppet = new Puppet(await engine.create({ limits }));
    for (const folder of ["/", "/usr", "/usr/bin", "/etc", "/.caisson", "/run", "/sys", "/opt"]) {
      await expect(puppet.run(`open("${folder}/x", "w").close()`), folder).rejects.toThrow(/Error/);
    }
    for (const folder of ["/workspace", "/home/user", "/tmp", "/dev/shm"]) {
      await puppet.run(`open("${folder}/x", "w").close()`);
    }
  });

  it("programs can be run from the workspace", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    using puppet = new Puppet(await engine.create({ limits }));
    await puppet.run(`open("p", "w").write("#!/bin/sh\\nexit 7\\n")`);
    await puppet.run(`os.chmod("p", 0o755)`);
    expect(await puppet.run(`os.waitstatus_to_exitcode(os.system("./p"))`)).toBe(7);
  });

  it("nothing of the host's /root, /home, /var, /etc/shadow, sources or process list is there", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    using puppet = new Puppet(await engine.create({ limits }));
    for (const path of ["/root", "/var", "/work", "/etc/shadow", "/etc/ssl/private", home.home]) {
      expect(await puppet.run(`os.path.exists("${path}")`), path).toBe(false);
    }
    for (const path of ["/usr/src", "/usr/local/etc"]) {
      expect(await puppet.run(`len(os.listdir("${path}")) if os.path.isdir("${path}") else 0`), path).toBe(0);
    }
    expect(await puppet.run(`sorted(int(n) for n in os.listdir("/proc") if n.isdigit())[0]`)).toBe(1);
    expect(await puppet.run(`os.listdir("/home")`)).toEqual(["user"]);
  });

  it("only loopback is there", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    using puppet = new Puppet(await engine.create({ limits }));
    const lines = (await puppet.run(`open("/proc/net/dev").read()`)) as string;
    const interfaces = lines
      .split("\n")
      .slice(2)
      .map((line) => line.split(":")[0]?.trim())
      .filter(Boolean);
    expect(interfaces).toEqual(["lo"]);
  });
});

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { chmod, copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findPrivilege } from "../../packages/server/src/engines/oci/privilege.ts";
import { findProgram } from "../../packages/server/src/engines/runtime.ts";
import { processesOf } from "../leaks.ts";
import { engineNames, limits, makeHome, openEngine } from "./fixture.ts";

/** The descriptor by which this process's helper holds the copy of the runtime. */
function findCopy(): string | undefined {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").split(" ").filter(Boolean);
  for (const pid of children)
    for (const fd of readdirSync(`/proc/${pid}/fd`))
      if (readlinkSync(`/proc/${pid}/fd/${fd}`).includes("memfd:caisson-runtime")) return `/proc/${pid}/fd/${fd}`;
  return undefined;
}

const [sealSealed, sealShrink, sealGrow, sealWrite] = [1, 2, 4, 8];

/** Node cannot ask for them. */
function sealsOf(path: string): number {
  const code = "import fcntl,os,sys; print(fcntl.fcntl(os.open(sys.argv[1], os.O_RDONLY), 1034))";
  return Number(execFileSync("/usr/bin/python3", ["-c", code, path], { encoding: "utf8" }));
}

describe("the runtime of engine container", () => {
  it("runs from a copy in memory that nobody can write to, the helper included", async () => {
    await using home = await makeHome();
    await using engine = await openEngine("container", home);
    await engine.create({ limits });
    const copy = findCopy();
    expect(copy).toBeDefined();
    expect(sealsOf(copy as string)).toBe(sealSealed | sealShrink | sealGrow | sealWrite);
  });

  it("is the one that lies there now, when it was replaced after a sandbox had been made", async () => {
    await using home = await makeHome();
    const runtimePath = join(home.home, "runc");
    await copyFile((await findProgram("runc")) as string, runtimePath);
    await chmod(runtimePath, 0o755);
    await chmod(home.home, 0o711); // a script is started by its path, under a uid of the sandbox
    await using engine = await openEngine("container", home, { runtimePath });
    await engine.create({ limits });
    await writeFile(runtimePath, "#!/bin/sh\nexit 43\n");
    await expect(engine.create({ limits })).rejects.toThrow("exit code 43");
  });
});

describe.each(engineNames)("the processes of engine %s", (name) => {
  it("are in the sandbox's cgroup of every hierarchy", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const { id } = await engine.create({ limits });
    const { hierarchies } = await findPrivilege();
    const pids = processesOf(id);
    expect(pids.length).toBeGreaterThan(0);
    for (const pid of pids) {
      const joined = readFileSync(`/proc/${pid}/cgroup`, "utf8").split("\n");
      expect(joined.filter((line) => line.endsWith(`-${id}`))).toHaveLength(hierarchies.length);
    }
  });
});

describe("the processes of engine gvisor", () => {
  it("have a large table of open files from the start, and no file open to make it so", async () => {
    await using home = await makeHome();
    await using engine = await openEngine("gvisor", home);
    const { id } = await engine.create({ limits });
    const pids = processesOf(id);
    expect(pids.length).toBeGreaterThan(1);
    for (const pid of pids) {
      const size = /^FDSize:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
      expect(Number(size)).toBeGreaterThan(1000);
      expect(Math.max(...readdirSync(`/proc/${pid}/fd`).map(Number))).toBeLessThan(1000);
    }
  });
});

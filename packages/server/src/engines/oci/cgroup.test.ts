import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { SandboxCgroup } from "./cgroup.ts";
import { findHierarchies } from "./cgroup-mounts.ts";

const GiB = 1024 ** 3;
const limits = { memoryBytes: GiB, cpus: 1.5, cpuShares: 1024, processes: 64, storageBytes: GiB };
const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** A folder with the files that a version 2 kernel shows. */
function fakeUnified(files: Record<string, string>) {
  const root = mkdtempSync(join(tmpdir(), "caisson-cgroup-"));
  folders.push(root);
  const group = join(root, "caisson/abc");
  mkdirSync(group, { recursive: true });
  writeFileSync(join(root, "cgroup.controllers"), "cpuset cpu io memory hugetlb pids\n");
  writeFileSync(join(root, "cgroup.subtree_control"), "memory\n");
  writeFileSync(join(root, "caisson/cgroup.subtree_control"), "\n");
  for (const [name, text] of Object.entries(files)) writeFileSync(join(group, name), text);
  const mounts = `cgroup2 ${root} cgroup2 rw,nosuid 0 0\n`;
  return { root, group, mounts };
}

const limitFiles = { "memory.max": "", "memory.swap.max": "", "cpu.max": "", "cpu.weight": "", "pids.max": "" };

describe("cgroups of version 2", () => {
  it("get the limits that were asked for, with head-room for the engine's own", async () => {
    const { group, mounts } = fakeUnified(limitFiles);
    const cgroup = new SandboxCgroup(await findHierarchies(mounts), "abc");
    cgroup.create();
    const outcome = cgroup.limit("container", limits, ["memory", "cpu", "processes"]);
    expect([...outcome.values()]).toEqual([null, null, null]);
    expect(readFileSync(join(group, "memory.max"), "utf8")).toBe(String(GiB + 4 * 1024 ** 2));
    expect(readFileSync(join(group, "memory.swap.max"), "utf8")).toBe("0");
    expect(readFileSync(join(group, "cpu.max"), "utf8")).toBe("150000 100000");
    expect(readFileSync(join(group, "cpu.weight"), "utf8")).toBe("40");
    expect(readFileSync(join(group, "pids.max"), "utf8")).toBe("128");
  });

  it("change in the files of what differs, and in no other", async () => {
    const { group, mounts } = fakeUnified(limitFiles);
    const cgroup = new SandboxCgroup(await findHierarchies(mounts), "abc");
    const outcome = cgroup.change("container", limits, { ...limits, memoryBytes: 2 * GiB, processes: 100 });
    expect(Object.fromEntries(outcome)).toEqual({ memory: null, cpu: null, processes: null });
    expect(readFileSync(join(group, "memory.max"), "utf8")).toBe(String(2 * GiB + 4 * 1024 ** 2));
    expect(readFileSync(join(group, "pids.max"), "utf8")).toBe("164");
    expect(readFileSync(join(group, "cpu.max"), "utf8")).toBe("");
    expect(readFileSync(join(group, "memory.swap.max"), "utf8")).toBe("");
  });

  it.each([
    [GiB, 0, true],
    [GiB, GiB - 1024 ** 2, false],
  ])("are not set below %s bytes in use of which %s are cache: refused is %s", async (current, cache, isRefused) => {
    const use = { "memory.current": `${current}\n`, "memory.stat": `anon 5\ninactive_file ${cache}\nactive_file 0\n` };
    const { group, mounts } = fakeUnified({ ...limitFiles, ...use });
    const cgroup = new SandboxCgroup(await findHierarchies(mounts), "abc");
    const outcome = cgroup.change("container", limits, { ...limits, memoryBytes: GiB / 2, processes: 1 });
    expect(outcome.get("memory") !== null).toBe(isRefused);
    expect(readFileSync(join(group, "memory.max"), "utf8") === "").toBe(isRefused);
    expect(readFileSync(join(group, "pids.max"), "utf8") === "").toBe(isRefused);
  });

  it("are asked for the controllers that the parents do not give yet", async () => {
    const { root, mounts } = fakeUnified(limitFiles);
    new SandboxCgroup(await findHierarchies(mounts), "abc").create();
    expect(readFileSync(join(root, "caisson/cgroup.subtree_control"), "utf8")).toMatch(/\+(cpu|io|memory|pids)/);
  });

  it("[SBX-14] say why a limit does not hold when its file is missing", async () => {
    const { mounts } = fakeUnified({ "cpu.max": "", "cpu.weight": "", "pids.max": "" });
    const cgroup = new SandboxCgroup(await findHierarchies(mounts), "abc");
    const outcome = cgroup.limit("container", limits, ["memory", "cpu"]);
    expect(outcome.get("memory")).toMatch(/memory\.max cannot be set/);
    expect(outcome.get("cpu")).toBeNull();
  });

  it("[SBX-14] say why a limit does not hold when the host has no such controller", async () => {
    const { root, mounts } = fakeUnified(limitFiles);
    writeFileSync(join(root, "cgroup.controllers"), "memory cpu\n");
    const cgroup = new SandboxCgroup(await findHierarchies(mounts), "abc");
    const outcome = cgroup.limit("container", limits, ["memory", "processes"]);
    expect(outcome.get("processes")).toMatch(/no pids cgroup/);
    expect(outcome.get("memory")).toBeNull();
  });

  it("[SBX-14] say so when a limit was taken and does not stand", async () => {
    const { group, mounts } = fakeUnified({ ...limitFiles });
    rmSync(join(group, "pids.max"));
    symlinkSync("/dev/null", join(group, "pids.max"));
    const cgroup = new SandboxCgroup(await findHierarchies(mounts), "abc");
    expect(cgroup.limit("container", limits, ["processes"]).get("processes")).toBe("pids.max is , not 128");
  });

  it("tell what was used", async () => {
    const { group, mounts } = fakeUnified({
      "cpu.stat": "usage_usec 1500000\nuser_usec 1\n",
      "memory.current": "1000\n",
      "memory.peak": "2000\n",
      "memory.events": "low 0\noom 3\noom_kill 2\noom_group_kill 0\n",
      "pids.current": "5\n",
      "io.stat": "8:0 rbytes=10 wbytes=20 rios=1\n7:0 rbytes=1 wbytes=2 rios=1\n",
    });
    const cgroup = new SandboxCgroup(await findHierarchies(mounts), "abc");
    expect(cgroup.stats()).toEqual({
      cpuMs: 1500,
      memoryBytes: 1000,
      memoryPeakBytes: 2000,
      oomKills: 2,
      processes: 5,
      ioReadBytes: 11,
      ioWriteBytes: 22,
    });
    expect(cgroup.oomKills()).toBe(2);
    writeFileSync(join(group, "memory.events"), "low 0\noom 3\noom_kill 4\n");
    expect(cgroup.oomKills()).toBe(4);
    rmSync(join(group, "memory.events"));
    expect(cgroup.oomKills()).toBe(0);
  });
});

describe("the cgroup mounts of a host", () => {
  it("are found where versions are mixed, each controller once", async () => {
    const { root } = fakeUnified({});
    writeFileSync(join(root, "cgroup.controllers"), "memory hugetlb\n");
    const mounts = [
      "tmpfs /sys/fs/cgroup tmpfs rw 0 0",
      "cgroup /cg/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0",
      "cgroup /cg/memory cgroup rw,memory 0 0",
      "cgroup /cg/devices cgroup rw,devices 0 0",
      "cgroup /other/memory cgroup rw,memory 0 0",
      `cgroup2 ${root} cgroup2 rw 0 0`,
    ].join("\n");
    const found = await findHierarchies(mounts);
    expect(found.map(({ root, controllers }) => [root, [...controllers]])).toEqual([
      ["/cg/cpu,cpuacct", ["cpu", "cpuacct"]],
      ["/cg/memory", ["memory"]],
      [root, []],
    ]);
  });
});

import { readdir, readFile } from "node:fs/promises";

async function processTable(): Promise<Map<number, number>> {
  const parents = new Map<number, number>();
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => ""); // it has ended meanwhile
    const parent = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  return parents;
}

/** This process and all below it: helpers reap what runtimes leave, so every sandbox is among them. */
async function ownProcesses(): Promise<number[]> {
  const parents = await processTable();
  const isOwn = (pid: number): boolean => {
    if (pid === process.pid) return true;
    const parent = parents.get(pid);
    return parent !== undefined && parent > 0 && isOwn(parent);
  };
  return [...parents.keys()].filter(isOwn);
}

async function pssOf(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) * 1024;
}

export async function pssByProcess(): Promise<Map<number, number>> {
  const pss = new Map<number, number>();
  for (const pid of await ownProcesses()) pss.set(pid, await pssOf(pid));
  return pss;
}

export async function meminfo(): Promise<Record<string, number>> {
  const text = await readFile("/proc/meminfo", "utf8");
  return Object.fromEntries(
    [...text.matchAll(/^(\S+):\s+(\d+) kB$/gm)].map(([, name, kilobytes]) => [name, Number(kilobytes) * 1024]),
  );
}

const hierarchies = [
  { line: /^\d+:memory:(.*)$/m, mount: "/sys/fs/cgroup/memory", file: "memory.kmem.usage_in_bytes", number: /^(\d+)/ },
  { line: /^0::(.*)$/m, mount: "/sys/fs/cgroup", file: "memory.stat", number: /^kernel (\d+)/m },
];

async function kernelMemoryOf(cgroup: string): Promise<{ path: string; bytes: number } | undefined> {
  for (const { line, mount, file, number } of hierarchies) {
    const path = line.exec(cgroup)?.[1];
    if (path === undefined || path === "/") continue;
    const text = await readFile(`${mount}${path}/${file}`, "utf8").catch(() => "");
    const bytes = number.exec(text)?.[1];
    if (bytes !== undefined) return { path, bytes: Number(bytes) };
  }
  return undefined;
}

/** What the kernel has charged to the memory cgroups of these processes, each counted once. */
export async function kernelMemory(pids: readonly number[]): Promise<{ cgroups: number; bytes: number }> {
  const found = new Map<string, number>();
  for (const pid of pids) {
    const charged = await kernelMemoryOf(await readFile(`/proc/${pid}/cgroup`, "utf8").catch(() => ""));
    if (charged !== undefined) found.set(charged.path, charged.bytes);
  }
  return { cgroups: found.size, bytes: [...found.values()].reduce((sum, bytes) => sum + bytes, 0) };
}

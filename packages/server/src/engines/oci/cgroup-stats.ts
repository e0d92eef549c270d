import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxStats } from "../../core/engine.ts";
import { errnoOf } from "../../core/errors.ts";
import type { Controller } from "./cgroup-mounts.ts";

type Folder = { path: string; version: 1 | 2 } | undefined;

type FolderOf = (controller: Controller) => Folder;

/** What is not counted on this host is zero. */
export function readStats(folderOf: FolderOf): SandboxStats {
  const memory = reader(folderOf("memory"));
  const cpu = reader(folderOf("cpuacct") ?? folderOf("cpu"));
  const pids = reader(folderOf("pids"));
  const io = reader(folderOf("blkio") ?? folderOf("io"));
  return {
    cpuMs: Math.round(cpu(["cpuacct.usage", first, 1e-6], ["cpu.stat", field("usage_usec"), 1e-3])),
    memoryBytes: memory(["memory.usage_in_bytes", first], ["memory.current", first]),
    memoryPeakBytes: memory(["memory.max_usage_in_bytes", first], ["memory.peak", first]),
    oomKills: readOomKills(folderOf),
    processes: pids(["pids.current", first], ["pids.current", first]),
    ioReadBytes: io(["blkio.throttle.io_service_bytes", sum(/ Read (\d+)/g)], ["io.stat", sum(/rbytes=(\d+)/g)]),
    ioWriteBytes: io(["blkio.throttle.io_service_bytes", sum(/ Write (\d+)/g)], ["io.stat", sum(/wbytes=(\d+)/g)]),
  };
}

/** How many processes the kernel has ended for their memory. */
export function readOomKills(folderOf: FolderOf): number {
  const memory = reader(folderOf("memory"));
  return memory(["memory.oom_control", field("oom_kill")], ["memory.events", field("oom_kill")]);
}

/** What cannot be taken back: the kernel would end processes for a limit below it. Version 2 only: version 1 refuses by itself. */
export function readHeldBytes(folder: string): number {
  const stat = readIfThere(join(folder, "memory.stat"));
  const cached = field("inactive_file")(stat) + field("active_file")(stat);
  return Math.max(0, first(readIfThere(join(folder, "memory.current"))) - cached);
}

type Parse = (text: string) => number;
type Source = readonly [file: string, parse: Parse, scale?: number];

const first: Parse = (text) => Number.parseInt(text, 10) || 0;
const field =
  (name: string): Parse =>
  (text) =>
    first(new RegExp(`^${name} (\\d+)`, "m").exec(text)?.[1] ?? "0");
const sum =
  (pattern: RegExp): Parse =>
  (text) =>
    [...text.matchAll(pattern)].reduce((total, match) => total + Number(match[1]), 0);

function reader(folder: Folder): (v1: Source, v2: Source) => number {
  return (v1, v2) => {
    if (folder === undefined) return 0;
    const [file, parse, scale = 1] = folder.version === 1 ? v1 : v2;
    return parse(readIfThere(join(folder.path, file))) * scale;
  };
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENODEV") return "";
    throw error;
  }
}

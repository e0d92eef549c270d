import { readFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { EngineName } from "../packages/server/src/core/engine.ts";
import { compilerPath, root } from "./native-programs.ts";
import { runProgram } from "./program.ts";

/** By absolute path: a version manager's shim may stand before any of them on the PATH. */
export const runtimePaths: Record<EngineName, string> = {
  container: "/usr/sbin/runc",
  gvisor: join(root, ".build/bin/runsc"),
};
export const catPath = "/usr/bin/cat";
export const shellPath = "/usr/bin/dash";
export const cpPath = "/usr/bin/cp";
export const truePath = "/usr/bin/true";
const gitPath = "/usr/bin/git";

async function firstLine(path: string, ...args: string[]): Promise<string> {
  const { stdout } = await runProgram(path, args).catch((error: Error) => ({ stdout: `not usable: ${error.message}` }));
  return stdout.split("\n")[0] ?? "";
}

async function commit(): Promise<string> {
  const name = await firstLine(gitPath, "-C", root, "rev-parse", "--short", "HEAD");
  const changes = await firstLine(gitPath, "-C", root, "status", "--porcelain", "--untracked-files=normal");
  return changes === "" ? name : `${name} with changes`;
}

export async function describeMachine(): Promise<Record<string, string>> {
  return {
    commit: await commit(),
    kernel: release(),
    cpus: `${availableParallelism()} x ${cpus()[0]?.model ?? "unknown"}`,
    memory: `${Math.round(totalmem() / 1024 ** 2)} MB`,
    load: loadavg()
      .map((load) => load.toFixed(2))
      .join(" "),
    node: `${process.version} ${process.execPath}`,
    runc: `${await firstLine(runtimePaths.container, "--version")} ${runtimePaths.container}`,
    runsc: `${await firstLine(runtimePaths.gvisor, "--version")} ${runtimePaths.gvisor}`,
    shell: shellPath,
    cat: `${await firstLine(catPath, "--version")} ${catPath}`,
    cp: cpPath,
    compiler: `${await firstLine(compilerPath, "--version")} ${compilerPath}`,
  };
}

/** The share of the machine's CPUs that others use, seen while this process sleeps. */
export async function othersLoad(): Promise<number> {
  const read = async () => {
    const line = (await readFile("/proc/stat", "utf8")).split("\n")[0] ?? "";
    const ticks = line.split(/\s+/).slice(1, 9).map(Number);
    const total = ticks.reduce((sum, value) => sum + value, 0);
    return { total, idle: (ticks[3] ?? 0) + (ticks[4] ?? 0) };
  };
  const before = await read();
  await sleep(400);
  const after = await read();
  return 1 - (after.idle - before.idle) / Math.max(1, after.total - before.total);
}

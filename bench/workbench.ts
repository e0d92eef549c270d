import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type Caisson, openCaisson } from "../packages/server/src/app.ts";
import type { EngineName, SandboxLimits } from "../packages/server/src/core/engine.ts";
import type { Sandbox } from "../packages/server/src/sandboxes/sandbox.ts";
import type { Line } from "./line.ts";
import { type ProgramName, programPath, root } from "./native-programs.ts";

export const MiB = 1024 ** 2;
export const GiB = 1024 ** 3;
export const engines: readonly EngineName[] = ["container", "gvisor"];

export interface BenchOptions {
  quick: boolean;
  full: boolean;
  profile: boolean;
}

/** What a benchmark gets: where to put its lines, and a Caisson with a home of its own. */
export interface Workbench {
  options: BenchOptions;
  home: string;
  caisson: Caisson;
  add(line: Omit<Line, "benchmark">): void;
  say(text: string): void;
}

export type Benchmark = (bench: Workbench) => Promise<void>;

export interface OpenHome extends AsyncDisposable {
  home: string;
  caisson: Caisson;
}

const open = new Set<OpenHome>();

/** A data folder that bare containers can reach too, gone when disposed. */
export async function openHome(): Promise<OpenHome> {
  const home = await mkdtemp("/var/tmp/caisson-bench-");
  await chmod(home, 0o755);
  const caisson = openCaisson({ home: join(home, "caisson"), root });
  const opened: OpenHome = {
    home,
    caisson,
    [Symbol.asyncDispose]: async () => {
      if (!open.delete(opened)) return;
      await caisson[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    },
  };
  open.add(opened);
  return opened;
}

/** For an interrupted bench. */
export async function closeHomes(): Promise<void> {
  for (const opened of open) await opened[Symbol.asyncDispose]();
}

/** Every CPU of the machine, as the bare thing has it. */
export const allCpus: Partial<SandboxLimits> = { cpus: availableParallelism() };

/** Copies a program of the benchmarks to the workspace and says where it is. */
export async function install(sandbox: Sandbox, name: ProgramName): Promise<string> {
  await sandbox.files.write(name, await readFile(programPath(name)), 0o755);
  return `/workspace/${name}`;
}

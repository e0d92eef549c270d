import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { runProgram } from "./program.ts";

export const root = join(import.meta.dirname, "..");
export const compilerPath = "/usr/bin/musl-gcc";
export const folder = join(root, ".build/bench");

export const programNames = ["hello", "nothing", "spawner", "zeros", "make-files", "pipe-size", "tcp"] as const;
export type ProgramName = (typeof programNames)[number];

export function programPath(name: ProgramName): string {
  return join(folder, name);
}

export async function compilePrograms(): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of programNames) {
    const source = join(import.meta.dirname, "native", `${name}.c`);
    await runProgram(compilerPath, [
      "-static",
      "-O2",
      "-s",
      "-Wall",
      "-Wextra",
      "-Werror",
      "-o",
      programPath(name),
      source,
    ]);
  }
}

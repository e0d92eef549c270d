import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { installPackage } from "./debian.ts";
import { ordinary, root } from "./harness.ts";

const run = promisify(execFile);
const timeout = 240_000;

/** Installs a program once into .build, where later runs find it; undefined where its registry cannot be reached. */
export async function installed(name: string, install: (folder: string) => Promise<void>): Promise<string | undefined> {
  const folder = join(root, ".build/clients", name);
  if (existsSync(join(folder, "whole"))) return folder;
  try {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await install(folder);
    await writeFile(join(folder, "whole"), "");
    return folder;
  } catch {
    return undefined;
  }
}

/** The folder of a Python that has one package of PyPI and what that needs. */
export function pythonWith(name: string, version: string): Promise<string | undefined> {
  return installed(`${name}-${version}`, async (prefix) => {
    const venv = () => run("/usr/bin/python3", ["-m", "venv", prefix], { timeout });
    await venv().catch(() => {
      if (!ordinary) installPackage("python3-venv"); // a bare Debian has Python without it
      return venv();
    });
    await run(join(prefix, "bin/pip"), ["install", "-q", `${name}==${version}`], { timeout });
  });
}

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { installPackage } from "../../debian.ts";
import { ordinary, root } from "../../harness.ts";

const run = promisify(execFile);
const timeout = 240_000;

/** Installs a client once into .build, where later runs find it; undefined where its registry cannot be reached. */
async function installed(name: string, install: (folder: string) => Promise<void>): Promise<string | undefined> {
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

/** The inspector's command line: too large a package for every checkout. */
export async function inspector(): Promise<string | undefined> {
  const folder = await installed("inspector-2.12.0", async (prefix) => {
    const quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"];
    await run("npm", ["install", "--prefix", prefix, ...quiet, "@modelcontextprotocol/inspector@2.12.0"], { timeout });
  });
  return folder && join(folder, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
}

/** A Python that has PyPI's mcp. */
export async function pythonWithMcp(): Promise<string | undefined> {
  const folder = await installed("mcp-2.3.0", async (prefix) => {
    const venv = () => run("/usr/bin/python3", ["-m", "venv", prefix], { timeout });
    await venv().catch(() => {
      if (!ordinary) installPackage("python3-venv"); // a bare Debian has Python without it
      return venv();
    });
    await run(join(prefix, "bin/pip"), ["install", "-q", "mcp==2.3.0"], { timeout });
  });
  return folder && join(folder, "bin/python");
}

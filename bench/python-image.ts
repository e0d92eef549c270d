import { readlink, realpath } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Docker } from "./docker.ts";
import { runProgram } from "./program.ts";

const tarPath = "/usr/bin/tar";
const lddPath = "/usr/bin/ldd";
/** What a session asks of its image: a shell, and the usual programs about files. */
const tools = ["sh", "cat", "chmod", "chown", "ls", "mkdir", "rm", "tail"].map((name) => `/usr/bin/${name}`);
const leftOut = ["*/test", "*/__pycache__", "*/idlelib", "*/config-3*"];

async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await runProgram(lddPath, [await realpath(program)]);
  return stdout.match(/\/\S+/g) ?? [];
}

/** An image of this machine's own Python, which no registry is needed for. */
export async function importPython(docker: Docker, folder: string, name: string): Promise<void> {
  const python = "/usr/bin/python3";
  const programs = [python, await realpath(python), ...tools];
  const libraries = new Set((await Promise.all(programs.map(librariesOf))).flat());
  const modules = join("/usr/lib", basename(await readlink(python)));
  const archive = join(folder, "python.tar");
  const without = leftOut.map((pattern) => `--exclude=${pattern}`);
  // Links are followed: the names by which programs are called stay, whatever they lead to here.
  const how = ["--create", "--dereference", "--absolute-names", "--transform=s|^/||", `--file=${archive}`];
  await runProgram(tarPath, [...how, ...without, ...programs, ...libraries, modules, "/etc/passwd", "/etc/group"]);
  await docker.import(archive, name, 'CMD ["python3"]', "ENV PATH=/usr/bin:/bin");
}

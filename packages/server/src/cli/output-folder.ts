import { lstat, mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../core/errors.ts";
import type { FileInfo, SandboxFiles } from "../core/file.ts";

/** Only plain names that stay inside the target; a sandbox chose them (hazard 33). */
function isPlain(name: string): boolean {
  return name.split("/").every((part) => part !== "" && part !== "." && part !== ".." && !part.includes("\ufffd"));
}

/** Refuses to write through anything that stood at the place before, links included. */
async function makeFolder(path: string): Promise<void> {
  await mkdir(path).catch((error: unknown) => {
    if (errnoOf(error) !== "EEXIST") throw error;
  });
  if (!(await lstat(path)).isDirectory()) throw new AppError("conflict", `'${path}' is not a folder`);
}

/** Every folder on the way, whether the sandbox listed it or not: none may be a link. */
async function makeParents(folder: string, name: string): Promise<void> {
  const parts = name.split("/").slice(0, -1);
  for (let i = 1; i <= parts.length; i++) await makeFolder(join(folder, ...parts.slice(0, i)));
}

/** What is copied from: a workspace at hand, or one that a daemon has. */
export interface Source {
  list(path: string, options: { recursive: boolean }): Promise<Pick<FileInfo, "name" | "type" | "mode">[]>;
  readEach: SandboxFiles["readEach"];
}

/** What may still be copied. A sparse file, or one with many names, takes more here than it took there. */
interface Budget {
  left: number;
}

function spend(budget: Budget, bytes: number): void {
  budget.left -= bytes;
  if (budget.left < 0)
    throw new AppError("limit_exceeded", "the output is larger than the workspace could hold", {
      hint: "it has sparse files, or files with several names; --storage sets the limit",
    });
}

async function copyFile(files: Source, from: string, mode: number, target: string, budget: Budget): Promise<void> {
  const temporary = `${target}.caisson-part`;
  await rm(temporary, { force: true });
  try {
    await using file = await open(temporary, "wx", mode & 0o111 ? 0o755 : 0o644);
    await files.readEach(from, (piece) => {
      spend(budget, piece.length);
      return file.writeFile(piece);
    });
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Copies one file of a workspace to a host path, whatever stood there. */
export async function copyOut(files: Source, from: string, mode: number, to: string, mostBytes: number): Promise<void> {
  try {
    await copyFile(files, from, mode, to, { left: mostBytes });
  } catch (error) {
    throw explain(error, to);
  }
}

/**
 * Copies a folder of a workspace to a host folder: regular files and folders only, no more bytes than the workspace may
 * hold. Returns what was left out, with the reason.
 */
export async function copyFolder(files: Source, source: string, folder: string, mostBytes: number): Promise<string[]> {
  const skipped: string[] = [];
  const budget: Budget = { left: mostBytes };
  try {
    await mkdir(folder, { recursive: true });
    for (const info of await files.list(source, { recursive: true })) {
      const target = join(folder, info.name);
      if (!isPlain(info.name)) {
        skipped.push(`${info.name}: its name is not plain text`);
      } else if (info.type === "directory" || info.type === "file") {
        await makeParents(folder, info.name);
        if (info.type === "directory") await makeFolder(target);
        else await copyFile(files, `${source}/${info.name}`, info.mode, target, budget);
      } else {
        skipped.push(`${info.name}: it is a ${info.type}, not a file`);
      }
    }
  } catch (error) {
    throw explain(error, folder);
  }
  return skipped;
}

function explain(error: unknown, place: string): unknown {
  if (error instanceof AppError || errnoOf(error) === undefined) return error;
  return new AppError("unavailable", `the output cannot be written to '${place}': ${errnoOf(error)}`, { cause: error });
}

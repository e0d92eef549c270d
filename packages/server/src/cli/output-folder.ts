import { createWriteStream } from "node:fs";
import { lstat, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { AppError, errnoOf } from "../core/errors.ts";
import type { FileInfo, SandboxFiles } from "../core/file.ts";

const source = "/workspace/output";

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

async function copyFile(files: SandboxFiles, info: FileInfo, target: string): Promise<void> {
  const temporary = `${target}.caisson-part`;
  await rm(temporary, { force: true });
  try {
    const mode = info.mode & 0o111 ? 0o755 : 0o644;
    await pipeline(files.read(`${source}/${info.name}`), createWriteStream(temporary, { flags: "wx", mode }));
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Copies /workspace/output to a host folder: regular files and folders only. Returns what was left out, with the reason. */
export async function copyOutput(files: SandboxFiles, folder: string): Promise<string[]> {
  const skipped: string[] = [];
  try {
    await mkdir(folder, { recursive: true });
    for (const info of await files.list(source, { recursive: true })) {
      const target = join(folder, info.name);
      if (!isPlain(info.name)) skipped.push(`${info.name}: its name is not plain text`);
      else if (info.type === "directory") await makeFolder(target);
      else if (info.type === "file") await copyFile(files, info, target);
      else skipped.push(`${info.name}: it is a ${info.type}, not a file`);
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("unavailable", `the output cannot be written to '${folder}': ${errnoOf(error)}`, {
      cause: error,
    });
  }
  return skipped;
}

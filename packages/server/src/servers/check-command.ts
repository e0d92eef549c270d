import { posix } from "node:path";
import { AppError } from "../core/errors.ts";
import type { Builder } from "../core/layer-builder.ts";
import { app } from "./build-scripts.ts";

/** Folders of programs in a server, as its processes search them. */
const searched = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
const interpreter = /^(?:python(?:3(?:\.\d+)?)?|node)$/;

/** Refuses words that cannot start a server: a program, or a file for an interpreter, that the tree does not have. */
export async function checkCommand(files: Pick<Builder["files"], "stat">, words: readonly string[]): Promise<void> {
  const [program = "", file] = words;
  const places = program.includes("/") ? [inTree(program)] : searched.map((folder) => `/workspace${folder}/${program}`);
  if (!(await anyExists(files, places)))
    throw new AppError("invalid", `the command ${JSON.stringify(program).slice(0, 200)} does not exist`, {
      hint: "set a command whose program is in the image, in /app, or installed by the dependencies",
    });
  if (file === undefined || file.startsWith("-") || !interpreter.test(posix.basename(program))) return;
  if (!(await anyExists(files, [inTree(file)])))
    throw new AppError("invalid", `the file ${JSON.stringify(file).slice(0, 200)} of the command does not exist`, {
      hint: "add the file to the archive, or set another command",
    });
}

/** Path in the builder of a path in the server. */
function inTree(path: string): string {
  return posix.isAbsolute(path) ? posix.join("/workspace", path) : posix.join(app, path);
}

async function anyExists(files: Pick<Builder["files"], "stat">, paths: readonly string[]): Promise<boolean> {
  for (const path of paths) {
    const found = await files.stat(path).catch((error: unknown) => {
      if (error instanceof AppError && ["not_found", "invalid", "forbidden"].includes(error.code)) return undefined;
      throw error;
    });
    if (found !== undefined) return true;
  }
  return false;
}

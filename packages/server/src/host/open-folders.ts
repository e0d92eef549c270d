import { lstat, realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { AppError, errnoOf } from "../core/errors.ts";
import type { HostFolder } from "../core/host.ts";

/** The kernel's own: what is in them is no data, and leads to processes, devices and memory. */
const kernelTrees = ["/proc", "/sys", "/dev"];

/** Refuses a folder that agents may not be given of the host, whoever asks for it in a configuration (S58). */
export async function checkOpenFolder({ path }: HostFolder, home: string): Promise<void> {
  const refuse = (why: string, hint: string) => new AppError("forbidden", `the host's folder ${path} ${why}`, { hint });
  if (!path.startsWith("/") || path.includes("\0") || resolve(path) !== path)
    throw refuse(
      "is not an absolute path in its plain form",
      "name it from / on, without '.', '..' or a '/' at its end",
    );
  const real = await realpath(path).catch((error: unknown) => {
    throw refuse(`cannot be opened (${errnoOf(error)})`, "make the folder, or take it out of the configuration");
  });
  if (real !== path) throw refuse("has a link in it", `name the folder that it leads to: ${real}`);
  if (!(await lstat(path)).isDirectory()) throw refuse("is not a folder", "name the folder that the file is in");
  const realHome = await realpath(home).catch(() => home);
  if (isWithin(path, realHome) || isWithin(realHome, path))
    throw refuse("holds Caisson's own data, or is part of it", "name a folder beside the data folder");
  if (kernelTrees.some((tree) => isWithin(path, tree))) throw refuse("is the kernel's", "name a folder of files");
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

import { AppError } from "../core/errors.ts";
import type { HostFolder } from "../core/host-access.ts";
import { checkPlainFolder, isWithin } from "./plain-folder.ts";

/** Folders of the kernel: their files are not data, and lead to processes, devices and memory. */
const kernelTrees = ["/proc", "/sys", "/dev"];

/** Refuses folders of the host that agents may never get, even if the configuration names them (S58). */
export async function checkOpenFolder({ path }: HostFolder, home: string): Promise<void> {
  const refuse = (why: string, hint: string) => new AppError("forbidden", `the host's folder ${path} ${why}`, { hint });
  await checkPlainFolder(path, home, refuse);
  if (kernelTrees.some((tree) => isWithin(path, tree)))
    throw refuse("belongs to the kernel", "choose a folder of files");
}

import { AppError } from "../core/errors.ts";
import type { HostFolder } from "../core/host.ts";
import { checkPlainFolder, isWithin } from "./plain-folder.ts";

/** The kernel's own: what is in them is no data, and leads to processes, devices and memory. */
const kernelTrees = ["/proc", "/sys", "/dev"];

/** Refuses a folder that agents may not be given of the host, whoever asks for it in a configuration (S58). */
export async function checkOpenFolder({ path }: HostFolder, home: string): Promise<void> {
  const refuse = (why: string, hint: string) => new AppError("forbidden", `the host's folder ${path} ${why}`, { hint });
  await checkPlainFolder(path, home, refuse);
  if (kernelTrees.some((tree) => isWithin(path, tree))) throw refuse("is the kernel's", "name a folder of files");
}

import { readFile } from "node:fs/promises";
import type { EngineName } from "../../core/engine.ts";

/**
 * What the guest is told on its command line. It starts programs in memory that it shares with them until exec, unless a
 * change of uid would open that memory to user code: that is the host kernel's to say, in a setting of the whole machine.
 * gVisor's own kernel has no such setting.
 */
export async function guestWords(engine: EngineName, path = "/proc/sys/fs/suid_dumpable"): Promise<string[]> {
  if (engine === "gvisor") return [];
  const value = await readFile(path, "utf8").catch(() => "unknown");
  return value.trim() === "0" ? [] : ["copy-memory"];
}

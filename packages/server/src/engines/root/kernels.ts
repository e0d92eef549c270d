import { join } from "node:path";
import type { RootEntry } from "../../core/image.ts";

/** The programs of code contexts (native/guest/kernels), read-only like the rest of the root. */
export function kernelEntries(bin: string): RootEntry[] {
  return [{ kind: "bind", path: "/.caisson/kernels", source: join(bin, "kernels") }];
}

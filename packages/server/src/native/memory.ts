import { fileURLToPath } from "node:url";

/** What Node has no call for (native/memory). */
export interface NativeMemory {
  /** A file as memory, until nobody holds it any more. Undefined where that cannot be. */
  map(fd: number, bytes: number): ArrayBuffer | undefined;
  /** Gives the kernel what the C library keeps of memory that was freed. */
  trim(): void;
}

/** The bundle has it beside itself, and sources where it was compiled. */
const file = import.meta.url.endsWith(".ts") ? "../../../../.build/bin/caisson-memory" : "./memory.node";
let loaded: NativeMemory | undefined;

export function nativeMemory(): NativeMemory {
  if (loaded !== undefined) return loaded;
  const library: { exports: unknown } = { exports: {} };
  process.dlopen(library, fileURLToPath(new URL(file, import.meta.url)));
  loaded = library.exports as NativeMemory;
  return loaded;
}

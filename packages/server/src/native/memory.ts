import { fileURLToPath } from "node:url";

/** What Node has no call for (native/memory). */
interface NativeMemory {
  /** A file as memory, until nobody holds it any more. Undefined where it cannot be mapped. */
  map(fd: number, bytes: number): ArrayBuffer | undefined;
  /** Gives the kernel what the C library keeps of memory that was freed. */
  trim(): void;
}

/** The bundle has it beside itself, and sources where it was compiled. */
const file = import.meta.url.endsWith(".ts") ? "../../../../.build/bin/caisson-memory" : "./memory.node";
const none: NativeMemory = { map: () => undefined, trim: () => {} };
let loaded: NativeMemory | undefined;

/** Nothing needs it to work: where it cannot be loaded (`--no-addons`) that is said, and things take longer. */
export function nativeMemory(): NativeMemory {
  loaded ??= load();
  return loaded;
}

function load(): NativeMemory {
  const library: { exports: unknown } = { exports: {} };
  try {
    process.dlopen(library, fileURLToPath(new URL(file, import.meta.url)));
    return library.exports as NativeMemory;
  } catch (error) {
    process.emitWarning(`going on without native memory: ${String(error)}`);
    return none;
  }
}

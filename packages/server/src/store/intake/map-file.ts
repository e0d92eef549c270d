import { statfsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** As the bundle has it beside itself, and tests have it from its compiler. */
const library = import.meta.url.endsWith(".ts") ? "../../../../../.build/bin/caisson-mapping" : "./mapping.node";

/**
 * ext4 and tmpfs write over blocks where they lie. On others a full disk may refuse that, and memory can only say so by the
 * end of the process.
 */
const inPlace: readonly number[] = [0xef53, 0x01021994];

type MapFile = (fd: number, bytes: number) => ArrayBuffer | undefined;

/** A file whose blocks are there, as memory: what is laid down in it is in the file. Undefined where that cannot be. */
export function mapFile(path: string, fd: number, bytes: number): Buffer | undefined {
  if (!inPlace.includes(statfsSync(path).type)) return undefined;
  const loaded: { exports: unknown } = { exports: {} };
  process.dlopen(loaded, fileURLToPath(new URL(library, import.meta.url)));
  const memory = (loaded.exports as MapFile)(fd, bytes);
  return memory === undefined ? undefined : Buffer.from(memory);
}

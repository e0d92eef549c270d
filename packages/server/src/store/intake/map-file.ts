import { statfsSync } from "node:fs";
import { nativeMemory } from "../../native/memory.ts";

/**
 * ext4 and tmpfs write over blocks where they lie. On others a full disk may refuse that, and memory can only say so by the
 * end of the process.
 */
const inPlace: readonly number[] = [0xef53, 0x01021994];

/** A file whose blocks are there, as memory: what is laid down in it is in the file. Undefined where that cannot be. */
export function mapFile(path: string, fd: number, bytes: number): Buffer | undefined {
  if (!inPlace.includes(statfsSync(path).type)) return undefined;
  const memory = nativeMemory().map(fd, bytes);
  return memory === undefined ? undefined : Buffer.from(memory);
}

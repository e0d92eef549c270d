import { statfs } from "node:fs/promises";
import type { DiskRoom } from "../core/gc.ts";

/** Of the disk that holds a folder. */
export async function diskRoom(folder: string): Promise<DiskRoom> {
  const { blocks, bfree, bavail, bsize } = await statfs(folder);
  return { totalBytes: (blocks - bfree + bavail) * bsize, freeBytes: bavail * bsize };
}

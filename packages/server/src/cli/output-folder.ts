import { mkdir } from "node:fs/promises";
import type { SandboxFiles } from "../core/file.ts";
import { explainWriting, FolderWriter } from "./folder-writer.ts";

/**
 * Copies a folder of a workspace to a host folder: regular files and folders only, no more bytes than the workspace may
 * hold. Returns the skipped names, with the reason.
 */
export async function copyFolder(
  files: Pick<SandboxFiles, "list" | "readEach">,
  source: string,
  folder: string,
  mostBytes: number,
): Promise<readonly string[]> {
  const writer = new FolderWriter(folder, mostBytes);
  try {
    await mkdir(folder, { recursive: true });
    for (const { name, type, mode } of await files.list(source, { recursive: true })) {
      if (type === "directory") await writer.folder(name);
      else if (type === "file") await writer.file(name, mode, (write) => files.readEach(`${source}/${name}`, write));
      else if (writer.takes(name)) writer.leaveOut(name, `it is a ${type}, not a file`);
    }
  } catch (error) {
    throw explainWriting(error, folder);
  }
  return writer.leftOut;
}

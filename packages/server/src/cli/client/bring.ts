import { stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Files } from "@caisson/sdk";
import { copyFolder, copyOut, type Source } from "../output-folder.ts";
import type { RunIo } from "../run.ts";
import { visible } from "../terminal.ts";

/** A daemon's workspace, to be copied from by the rules for any workspace. */
function asSource(files: Files): Source {
  return {
    list: async (path, options) =>
      (await files.list(path, options)).map(({ name, type, mode }) => ({ name, type, mode: Number.parseInt(mode, 8) })),
    readEach: async (path, take) => {
      for await (const piece of await files.read(path)) await take(Buffer.from(piece));
    },
  };
}

export async function bringFolder(files: Files, path: string, to: string, mostBytes: number, io: RunIo): Promise<void> {
  for (const left of await copyFolder(asSource(files), path === "" ? "/workspace" : path, to, mostBytes))
    io.stderr.write(`caisson: not copied: ${visible(left)}\n`);
}

export async function bringFile(files: Files, path: string, to: string, mostBytes: number): Promise<void> {
  const isFolder = await stat(to).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const { mode } = await files.stat(path);
  const target = isFolder ? join(to, basename(path)) : to;
  await copyOut(asSource(files), path, Number.parseInt(mode, 8), target, mostBytes);
}

import { mkdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Files } from "@caisson/sdk";
import { AppError } from "../../core/errors.ts";
import { snapshotLimits } from "../../core/snapshot-limits.ts";
import { TarReader } from "../../tar/tar-reader.ts";
import { explainWriting, FolderWriter, type Pieces } from "../folder-writer.ts";
import type { RunIo } from "../run.ts";
import { visible } from "../terminal.ts";
import { CopyProgress } from "./copy-progress.ts";

/** What a daemon sends; that it broke off is no fault of what is written here. */
async function* pieces(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    throw new AppError("unavailable", "the daemon broke off before all of it had come", { cause: error });
  }
}

/** Writes an archive that a sandbox made of itself: its files and folders as plain ones, and nothing else. */
export async function unpackInto(
  writer: FolderWriter,
  archive: AsyncIterable<Uint8Array>,
  progress: Pick<CopyProgress, "file" | "bytes">,
): Promise<void> {
  const reader = new TarReader(archive, { depth: snapshotLimits.depth, exact: true });
  const content: Pieces = async (write) => {
    for (let piece = await reader.read(); piece !== undefined; piece = await reader.read()) {
      await write(piece);
      progress.bytes(piece.length);
    }
  };
  try {
    for (let entry = await reader.next(); entry !== undefined; entry = await reader.next()) {
      const name = Buffer.from(entry.path, "latin1").toString();
      if (entry.depth === 0) writer.count();
      else if (entry.type === "directory") await writer.folder(name);
      else if (entry.type === "file") {
        progress.file();
        await writer.file(name, entry.mode, content);
      } else if (writer.takes(name)) writer.leaveOut(name, `it is a ${entry.type}, not a file`);
    }
  } finally {
    await reader.close();
  }
}

/** What is there, by name, before it comes: an archive has no place for sockets and the like, and does not say what it lacks. */
async function survey(files: Files, path: string): Promise<{ files: number; bytes: number; others: string[] }> {
  const found = { files: 0, bytes: 0, others: [] as string[] };
  for (const { name, type, size } of await files.list(path, { recursive: true })) {
    if (type === "other") found.others.push(name);
    if (type !== "file") continue;
    found.files++;
    found.bytes += size;
  }
  return found;
}

/** Whether all files came: links and special files stay behind, but what cannot be read was meant to be copied. */
export async function bringFolder(
  files: Files,
  path: string,
  to: string,
  mostBytes: number,
  io: RunIo,
): Promise<boolean> {
  const from = path === "" ? "/workspace" : path;
  const there = await survey(files, from);
  const writer = new FolderWriter(to, mostBytes);
  let came = 0;
  {
    using progress = new CopyProgress(io, "fetched", there.bytes);
    const counting = {
      file: () => {
        came++;
        progress.file();
      },
      bytes: (count: number) => progress.bytes(count),
    };
    const archive = await files.download(from);
    try {
      await mkdir(to, { recursive: true });
      await unpackInto(writer, pieces(archive), counting);
    } catch (error) {
      throw explainWriting(error, to);
    }
  }
  for (const name of there.others) if (writer.takes(name)) writer.leaveOut(name, "it is no file");
  for (const left of writer.leftOut) io.stderr.write(`caisson: not copied: ${visible(left)}\n`);
  if (came >= there.files) return true;
  io.stderr.write(
    `caisson: not copied: ${there.files - came} files that its user may not read, or that went meanwhile\n`,
  );
  return false;
}

export async function bringFile(files: Files, path: string, to: string, mostBytes: number, io: RunIo): Promise<void> {
  const isFolder = await stat(to).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const { mode, size } = await files.stat(path);
  const target = isFolder ? join(to, basename(path)) : to;
  using progress = new CopyProgress(io, "fetched", size);
  progress.file();
  const content = await files.read(path);
  try {
    await new FolderWriter(to, mostBytes).one(target, Number.parseInt(mode, 8), async (write) => {
      for await (const piece of pieces(content)) {
        await write(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
        progress.bytes(piece.length);
      }
    });
  } catch (error) {
    throw explainWriting(error, target);
  }
}

import { mkdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { FileInfo, Files } from "@caisson/sdk";
import { AppError } from "../../core/errors.ts";
import { snapshotLimits } from "../../sandboxes/snapshot-limits.ts";
import { TarReader, wrongChecksum } from "../../tar/tar-reader.ts";
import { FirstLines } from "../first-lines.ts";
import { explainWriting, FolderWriter, type Pieces } from "../folder-writer.ts";
import type { RunIo } from "../run.ts";
import { visible } from "../terminal.ts";
import { CopyProgress } from "./copy-progress.ts";

/** Bytes from the daemon. A broken connection is reported as such, not as an error of the target file. */
async function* pieces(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    throw new AppError("unavailable", "the connection to the daemon closed before the copy was complete", {
      cause: error,
    });
  }
}

/** A secret value in a file name is masked in the archive, which makes the checksum of its header wrong (docs/redaction.md). */
function explainChecksum(error: unknown, last: string): unknown {
  if (!(error instanceof AppError && error.message.endsWith(wrongChecksum))) return error;
  const place = last === "" ? "at its start" : `after '${visible(last)}'`;
  return new AppError(error.code, `cannot read the archive of the folder ${place}: wrong checksum`, {
    hint: "a file name may contain the value of a secret, which is masked: rename that file in the sandbox, or copy the other files one by one",
    cause: error,
  });
}

interface Watcher {
  file(name: string, sizeBytes: number): void;
  bytes(count: number): void;
}

/** Writes the files and folders of an archive from a sandbox, and skips everything else. */
export async function unpackInto(
  writer: FolderWriter,
  archive: AsyncIterable<Uint8Array>,
  progress: Watcher,
): Promise<void> {
  const reader = new TarReader(archive, { depth: snapshotLimits.depth, exact: true });
  const content: Pieces = async (write) => {
    for (let piece = await reader.read(); piece !== undefined; piece = await reader.read()) {
      await write(piece);
      progress.bytes(piece.length);
    }
  };
  let last = "";
  try {
    for (let entry = await reader.next(); entry !== undefined; entry = await reader.next()) {
      const name = Buffer.from(entry.path, "latin1").toString();
      last = name;
      if (entry.depth === 0) writer.count();
      else if (entry.type === "directory") await writer.folder(name);
      else if (entry.type === "file") {
        progress.file(name, entry.size);
        await writer.file(name, entry.mode, content);
      } else if (writer.takes(name)) writer.leaveOut(name, `it is a ${entry.type}, not a file`);
    }
  } catch (error) {
    throw explainChecksum(error, last);
  } finally {
    await reader.close();
  }
}

interface Survey {
  files: Map<string, Pick<FileInfo, "size" | "modified_at">>;
  bytes: number;
  others: string[];
}

/**
 * Lists a folder, before and after the copy: an archive has no entries for sockets, does not say what it lacks, and pads a
 * file with zeros if it became shorter while it was read.
 */
async function survey(files: Files, path: string): Promise<Survey> {
  const found: Survey = { files: new Map(), bytes: 0, others: [] };
  for (const { name, type, size, modified_at } of await files.list(path, { recursive: true })) {
    if (type === "other") found.others.push(name);
    if (type !== "file") continue;
    found.files.set(name, { size, modified_at });
    found.bytes += size;
  }
  return found;
}

/** Copied files that changed during the copy. Names that are not valid text were skipped, and cannot be compared. */
function changed(came: ReadonlyMap<string, number>, { files: before }: Survey, { files: after }: Survey): string[] {
  return [...came]
    .filter(([name, size]) => {
      const [then, now] = [before.get(name), after.get(name)];
      if (name.includes("\ufffd")) return false;
      return size !== now?.size || size !== then?.size || then.modified_at !== now.modified_at;
    })
    .map(([name]) => name);
}

/** True if all regular files were copied unchanged. Links and special files are never copied. */
export async function bringFolder(
  files: Files,
  path: string,
  to: string,
  mostBytes: number,
  io: RunIo,
): Promise<boolean> {
  const from = path === "" ? "/workspace" : path;
  const before = await survey(files, from);
  const writer = new FolderWriter(to, mostBytes);
  const came = new Map<string, number>();
  {
    using progress = new CopyProgress(io, "received", before.bytes);
    const watcher: Watcher = {
      file: (name, sizeBytes) => {
        came.set(name, sizeBytes);
        progress.file();
      },
      bytes: (count) => progress.bytes(count),
    };
    const archive = await files.download(from);
    try {
      await mkdir(to, { recursive: true });
      await unpackInto(writer, pieces(archive), watcher);
    } catch (error) {
      throw explainWriting(error, to);
    }
  }
  const after = await survey(files, from);
  for (const name of before.others) if (writer.takes(name)) writer.leaveOut(name, "it is not a file");
  const missing = [...before.files.keys()].filter((name) => !came.has(name));
  for (const name of missing) writer.leaveOut(name, "it is not readable, or was deleted during the copy");
  tellLines(io, "not copied", writer.leftOut);
  const torn = new FirstLines();
  for (const name of changed(came, before, after)) torn.add(name);
  tellLines(io, "changed during the copy", torn.all);
  return missing.length === 0 && torn.all.length === 0;
}

function tellLines(io: RunIo, what: string, lines: readonly string[]): void {
  for (const line of lines) io.stderr.write(`caisson: ${what}: ${visible(line)}\n`);
}

export async function bringFile(files: Files, path: string, to: string, mostBytes: number, io: RunIo): Promise<void> {
  const isFolder = await stat(to).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const { mode, size } = await files.stat(path);
  const target = isFolder ? join(to, basename(path)) : to;
  using progress = new CopyProgress(io, "received", size);
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

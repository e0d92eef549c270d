import { createReadStream } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { AppError, errnoOf } from "../../core/errors.ts";
import { tarEnd, tarHeader, tarPadding } from "../../tar/tar-writer.ts";
import type { LeftOut } from "./left-out.ts";
import { webStream } from "./web-stream.ts";

export interface FolderArchiveOptions {
  /** Modification time of all entries. Default: 1970, so that the same files make the same archive. */
  mtimeNs?: bigint;
  /** Called for each file, and for its bytes as they are sent. */
  progress?: { file(): void; bytes(count: number): void };
  /** Decides which entries are not sent. Default: all are. */
  leftOut?: LeftOut;
  /** Default: a plain tar archive. */
  gzip?: boolean;
}

/**
 * A folder's files as a tar archive. Anything but files and folders is refused, since it would be missing without a message.
 * Only empty folders have an entry: a folder that exists at the target keeps its mode.
 */
async function* folderArchive(folder: string, options: FolderArchiveOptions): AsyncGenerator<Uint8Array> {
  yield* entries(folder, "", options);
  yield tarEnd;
}

async function* entries(folder: string, below: string, options: FolderArchiveOptions): AsyncGenerator<Uint8Array> {
  const { mtimeNs = 0n, progress, leftOut } = options;
  await leftOut?.enter(folder, below);
  const names = await readdir(join(folder, below));
  if (names.length === 0 && below !== "")
    yield tarHeader({ type: "directory", path: latin1(below), mode: 0o755, mtimeNs });
  for (const name of names.sort()) {
    const path = below === "" ? name : `${below}/${name}`;
    const info = await lstat(join(folder, path));
    if (leftOut?.takes(path, info.isDirectory())) continue;
    if (info.isDirectory()) yield* entries(folder, path, options);
    else if (info.isFile()) {
      const mode = info.mode & 0o111 ? 0o755 : 0o644;
      yield tarHeader({ type: "file", path: latin1(path), mode, size: info.size, mtimeNs });
      progress?.file();
      let sent = 0;
      for await (const piece of createReadStream(join(folder, path), { end: Math.max(0, info.size - 1) })) {
        sent += piece.length;
        progress?.bytes(piece.length);
        yield piece;
      }
      if (sent !== info.size) throw new AppError("conflict", `cannot send '${path}': it changed while it was read`);
      yield tarPadding(info.size);
    } else throw new AppError("invalid", `cannot send '${path}': not a file or folder`);
  }
}

function latin1(path: string): string {
  return Buffer.from(path).toString("latin1");
}

/** Sends a folder as an archive. An error of the folder replaces the broken connection that the sender would report. */
export async function sendFolder<T>(
  folder: string,
  send: (archive: ReadableStream<Uint8Array>) => Promise<T>,
  options: FolderArchiveOptions = {},
): Promise<T> {
  let failure: unknown;
  async function* watched() {
    try {
      yield* folderArchive(folder, options);
    } catch (error) {
      failure = explain(error, folder);
      throw error;
    }
  }
  try {
    return await send(webStream(options.gzip ? gzipped(watched()) : watched()));
  } catch (error) {
    throw failure ?? error;
  }
}

function gzipped(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return pipeline(Readable.from(pieces), createGzip(), () => undefined); // the reader gets the error
}

function explain(error: unknown, folder: string): unknown {
  const errno = errnoOf(error);
  if (error instanceof AppError || errno === undefined) return error;
  const path = (error as NodeJS.ErrnoException).path ?? folder;
  return new AppError("not_found", `cannot read '${path}' (${errno})`, { cause: error });
}

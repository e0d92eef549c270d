import type { Archive, PackOptions, PackSummary, StreamWithSummary, UnpackOptions } from "../core/archive.ts";
import { AppError } from "../core/errors.ts";
import type { FileInfo, ReadOptions, SandboxFiles } from "../core/file.ts";
import { sandboxLimits } from "../core/limits.ts";
import type { Redactor } from "../core/redaction.ts";
import type { SearchMatch, SearchOptions, SearchSummary } from "../core/search.ts";
import type { FileWatch, WatchOptions } from "../core/watch.ts";
import type { StreamKind, StreamSpec, Wire, WireStream } from "../core/wire.ts";
import { cleanRange } from "../dlp/clean-range.ts";
import { type Body, sendBody } from "./body.ts";
import { parseRow } from "./file-rows.ts";
import { packFolder } from "./pack.ts";
import { restoreWorkspace } from "./restore-workspace.ts";
import { searchFolder } from "./search.ts";
import { unpackArchive } from "./unpack.ts";
import { watchFolder } from "./watch.ts";
import { settle, workerOutput } from "./worker-output.ts";

function checkPath(path: string): string {
  if (path.includes("\0")) throw new AppError("invalid", "the path contains a NUL byte");
  if (Buffer.byteLength(path) >= sandboxLimits.pathBytes)
    throw new AppError("invalid", `the path is longer than ${sandboxLimits.pathBytes} bytes`);
  return path;
}

export interface FileParts {
  wire: Wire;
  /** Something in the workspace is about to change. */
  touched: () => void;
  watchAll: () => Promise<FileWatch>;
  redactor: Redactor;
}

/** File operations over the wire, each by a worker of the guest with the user's rights (S6). */
export class WireFiles implements SandboxFiles {
  readonly #wire: Wire;
  readonly #touched: () => void;
  readonly #watchAll: () => Promise<FileWatch>;
  readonly #redactor: Redactor;

  constructor({ wire, touched, watchAll, redactor }: FileParts) {
    this.#wire = wire;
    this.#touched = touched;
    this.#watchAll = watchAll;
    this.#redactor = redactor;
  }

  async *read(path: string, options: ReadOptions = {}): AsyncIterable<Buffer> {
    for await (const piece of this.#clean(path, options)) yield Buffer.from(piece);
  }

  async readEach(
    path: string,
    take: (piece: Buffer) => Promise<void> | undefined,
    options: ReadOptions = {},
  ): Promise<void> {
    for await (const piece of this.#clean(path, options)) await take(piece);
  }

  #clean(path: string, options: ReadOptions): AsyncIterable<Buffer> {
    return cleanRange(this.#redactor, options, (range) => this.#pieces(path, range));
  }

  /** Each piece holds until the next is asked for. */
  async *#pieces(path: string, options: ReadOptions): AsyncIterable<Buffer> {
    const spec: StreamSpec = { path: checkPath(path), offset: options.offset ?? 0, length: options.length ?? 0 };
    let header: Buffer | undefined = Buffer.alloc(0);
    for await (const chunk of workerOutput(this.#wire, "read", spec)) {
      let body: Buffer = chunk;
      if (header !== undefined) {
        header = Buffer.concat([header, chunk]);
        const row = parseRow(header);
        body = row === undefined ? Buffer.alloc(0) : header.subarray(row.size);
        if (row !== undefined) header = undefined;
      }
      if (body.length > 0) yield body;
    }
  }

  async write(path: string, body: Body, mode = 0o644): Promise<void> {
    this.#touched();
    const stream = this.#open("write", { path: checkPath(path), mode, parents: true });
    try {
      await sendBody(stream, body);
    } catch (error) {
      stream.killTree(); // the worker removes its unfinished file
      await stream.exit.catch(() => undefined);
      throw error;
    }
    await settle(stream, path);
  }

  async list(path: string, options: { recursive?: boolean } = {}): Promise<FileInfo[]> {
    const { rows, whole } = await this.#rows("list", { path: checkPath(path), recursive: options.recursive ?? false });
    if (!whole) throw new AppError("unavailable", `${path}: the sandbox did not finish the list`);
    return rows;
  }

  async stat(path: string): Promise<FileInfo> {
    const [info] = (await this.#rows("stat", { path: checkPath(path) })).rows;
    if (info === undefined) throw new AppError("unavailable", `${path}: no answer from the sandbox`);
    return info;
  }

  async mkdir(path: string): Promise<void> {
    this.#touched();
    await this.#rows("mkdir", { path: checkPath(path), parents: true });
  }

  async move(from: string, to: string, options: { replace?: boolean } = {}): Promise<void> {
    this.#touched();
    await this.#rows("move", { path: checkPath(from), target: checkPath(to), replace: options.replace ?? false });
  }

  async remove(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    this.#touched();
    await this.#rows("remove", { path: checkPath(path), recursive: options.recursive ?? false });
  }

  pack(path: string, options: PackOptions = {}): StreamWithSummary<Buffer, PackSummary> {
    return packFolder(this.#wire, checkPath(path), options, this.#redactor);
  }

  unpack(path: string, archive: Archive, options: UnpackOptions = {}): Promise<void> {
    this.#touched();
    return unpackArchive(this.#wire, checkPath(path), archive, options);
  }

  restore(archive: AsyncIterable<Uint8Array>, neededBytes: number): Promise<void> {
    this.#touched();
    return restoreWorkspace(this.#wire, archive, neededBytes);
  }

  search(path: string, options: SearchOptions): StreamWithSummary<SearchMatch, SearchSummary> {
    return searchFolder(this.#wire, checkPath(path), options, this.#redactor);
  }

  watch(path = "", options: WatchOptions = {}): Promise<FileWatch> {
    return watchFolder(this.#watchAll, path, options, this.#redactor);
  }

  #open(kind: StreamKind, spec: StreamSpec): WireStream {
    const stream = this.#wire.open(kind, spec, (channel, chunk) => stream.consumed(channel, chunk.length));
    return stream;
  }

  async #rows(kind: StreamKind, spec: StreamSpec): Promise<{ rows: FileInfo[]; whole: boolean }> {
    const rows: FileInfo[] = [];
    let whole = false;
    let rest: Buffer = Buffer.alloc(0);
    let total = 0;
    let failure: unknown;
    const stream = this.#wire.open(kind, spec, (channel, chunk) => {
      if (failure !== undefined) return stream.consumed(channel, chunk.length);
      try {
        total += chunk.length;
        if (total > sandboxLimits.listBytes)
          throw new AppError("too_large", `${spec.path}: the list is larger than ${sandboxLimits.listBytes} bytes`);
        rest = Buffer.concat([rest, chunk]); // a copy: the receive buffer is written again
        for (let row = parseRow(rest); row !== undefined; row = parseRow(rest)) {
          if (row.info === undefined) whole = true;
          else rows.push(this.#redactor.value(row.info));
          rest = rest.subarray(row.size);
        }
      } catch (error) {
        failure = error;
        stream.killTree();
      }
      stream.consumed(channel, chunk.length);
    });
    stream.end();
    await settle(stream, spec.path ?? "").catch((error) => {
      throw failure ?? error;
    });
    if (failure !== undefined) throw failure;
    return { rows, whole };
  }
}

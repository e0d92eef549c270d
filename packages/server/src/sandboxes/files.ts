import { AppError } from "../core/errors.ts";
import type { FileInfo, ReadOptions, SandboxFiles } from "../core/file.ts";
import { sandboxLimits } from "../core/limits.ts";
import type { StreamKind, StreamSpec, Wire, WireStream } from "../core/wire.ts";
import { type Body, sendBody } from "./body.ts";
import { ChunkQueue } from "./chunk-queue.ts";
import { errorOfErrno } from "./errno.ts";
import { parseRow } from "./file-rows.ts";

function checkPath(path: string): string {
  if (path.includes("\0")) throw new AppError("invalid", "the path holds a NUL");
  if (Buffer.byteLength(path) >= sandboxLimits.pathBytes)
    throw new AppError("invalid", `the path is longer than ${sandboxLimits.pathBytes} bytes`);
  return path;
}

async function settle(stream: WireStream, what: string): Promise<void> {
  const exit = await stream.exit;
  if (exit.startError !== null) throw errorOfErrno(exit.startError, what);
  if (exit.exitCode !== 0) throw new AppError("unavailable", `${what}: the file worker was killed`);
}

/** File operations over the wire, each by a worker of the guest with the user's rights (S6). */
export class WireFiles implements SandboxFiles {
  readonly #wire: Wire;
  readonly #touched: () => void;

  constructor(wire: Wire, touched: () => void) {
    this.#wire = wire;
    this.#touched = touched;
  }

  async *read(path: string, options: ReadOptions = {}): AsyncIterable<Buffer> {
    for await (const piece of this.#pieces(path, options)) yield Buffer.from(piece);
  }

  async readEach(
    path: string,
    take: (piece: Buffer) => Promise<void> | undefined,
    options: ReadOptions = {},
  ): Promise<void> {
    for await (const piece of this.#pieces(path, options)) await take(piece);
  }

  /** Each piece holds until the next is asked for. */
  async *#pieces(path: string, options: ReadOptions): AsyncIterable<Buffer> {
    const spec: StreamSpec = { path: checkPath(path), offset: options.offset ?? 0, length: options.length ?? 0 };
    const waiting = new ChunkQueue();
    let wake = Promise.withResolvers<void>();
    let ended = false;
    const stream = this.#wire.open("read", spec, (_channel, chunk) => {
      waiting.push(chunk);
      wake.resolve();
    });
    const settled = settle(stream, path).finally(() => {
      ended = true;
      wake.resolve();
    });
    settled.catch(() => undefined);
    let header: Buffer | undefined = Buffer.alloc(0);
    try {
      for (;;) {
        const chunk = waiting.shift();
        if (chunk === undefined) {
          if (ended) break;
          await wake.promise;
          wake = Promise.withResolvers<void>();
          continue;
        }
        let body: Buffer = chunk;
        if (header !== undefined) {
          header = Buffer.concat([header, chunk]);
          const row = parseRow(header);
          body = row === undefined ? Buffer.alloc(0) : header.subarray(row.size);
          if (row !== undefined) header = undefined;
        }
        if (body.length > 0) yield body;
        stream.consumed("stdout", chunk.length);
      }
      await settled;
    } finally {
      if (!ended) stream.killTree();
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
    return this.#rows("list", { path: checkPath(path), recursive: options.recursive ?? false });
  }

  async stat(path: string): Promise<FileInfo> {
    const [info] = await this.#rows("stat", { path: checkPath(path) });
    if (info === undefined) throw new AppError("unavailable", `${path}: the sandbox told nothing of it`);
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

  #open(kind: StreamKind, spec: StreamSpec): WireStream {
    const stream = this.#wire.open(kind, spec, (channel, chunk) => stream.consumed(channel, chunk.length));
    return stream;
  }

  async #rows(kind: StreamKind, spec: StreamSpec): Promise<FileInfo[]> {
    const rows: FileInfo[] = [];
    let rest: Buffer = Buffer.alloc(0);
    let total = 0;
    let failure: unknown;
    const stream = this.#wire.open(kind, spec, (channel, chunk) => {
      if (failure !== undefined) return stream.consumed(channel, chunk.length);
      try {
        total += chunk.length;
        if (total > sandboxLimits.listBytes)
          throw new AppError("too_large", `${spec.path}: a listing past ${sandboxLimits.listBytes} bytes`);
        rest = Buffer.concat([rest, chunk]); // a copy: the receive buffer is written again
        for (let row = parseRow(rest); row !== undefined; row = parseRow(rest)) {
          rows.push(row.info);
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
    return rows;
  }
}

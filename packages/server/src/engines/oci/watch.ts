import { randomBytes } from "node:crypto";
import { constants, openSync } from "node:fs";
import { unlink } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import { AppError, messageOf } from "../../core/errors.ts";
import { sandboxLimits } from "../../core/limits.ts";
import type { FileEvent, FileEventType, FileWatch } from "../../core/watch.ts";
import { watchLimits } from "../limits.ts";
import type { Argument, HelperClient } from "./helper-client.ts";

const types: Record<string, FileEventType> = { c: "created", m: "changed", d: "deleted", v: "moved", o: "overflow" };
const NUL = 0;

/** Cuts the helper's records: a letter, a path, NUL, and after a move the former path and NUL. */
export class EventParser {
  /** Whether the helper has said that it saw the sandbox's end. */
  ended = false;
  #rest: Buffer = Buffer.alloc(0);

  *push(chunk: Buffer): Generator<FileEvent> {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const end = this.#rest.indexOf(NUL);
      if (end < 0) break;
      const letter = this.#rest.toString("latin1", 0, 1);
      const type = types[letter];
      const path = this.#rest.toString("utf8", 1, end);
      const last = letter === "v" ? this.#rest.indexOf(NUL, end + 1) : end;
      if (last < 0) break;
      const from = this.#rest.toString("utf8", end + 1, last);
      this.#rest = this.#rest.subarray(last + 1);
      if (letter === "e") this.ended = true;
      if (type !== undefined) yield type === "moved" ? { type, path, from } : { type, path };
      else if (letter !== "r" && letter !== "e") throw new AppError("internal", "the list of events is not readable");
    }
    if (this.#rest.length > 2 * sandboxLimits.pathBytes + 3)
      throw new AppError("internal", "the list of events is not readable");
  }
}

/** The reading end of a helper's FIFO. */
class WorkspaceWatch implements FileWatch {
  readonly #socket: Socket;
  readonly #closed: Promise<void>;

  readonly #isGone: () => boolean;

  constructor(path: string, isGone: () => boolean, onClose: () => void) {
    this.#isGone = isGone;
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    this.#socket = new Socket({ fd, readable: true, writable: false });
    this.#socket.on("error", () => undefined); // the reader's to tell
    this.#closed = new Promise((resolve) => {
      this.#socket.once("close", () => {
        onClose();
        resolve();
      });
    });
  }

  /** The first look was taken once the helper has written anything. */
  async stands(path: string): Promise<this> {
    const first = Promise.withResolvers<void>();
    const end = () => first.reject(new AppError("unavailable", "the sandbox has ended"));
    this.#socket.once("readable", first.resolve).once("close", end);
    await first.promise.finally(() => this.#socket.off("close", end).off("readable", first.resolve));
    await unlink(path).catch(() => undefined);
    return this;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<FileEvent, void> {
    const parser = new EventParser();
    try {
      for await (const chunk of this.#socket) yield* parser.push(chunk);
      if (!parser.ended && !this.#isGone())
        throw new AppError("unavailable", "the watch was lost: list the folder and watch again");
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
    await this.#closed;
  }
}

export interface Watched {
  id: string;
  folder: string;
  rootPid: number;
  hasInput: boolean;
  /** FIFOs of the watches under way; their helpers hold the workspace's mount. */
  watches: Set<string>;
}

/** `ids` name the sandbox's users; `isGone` tells whether it is being removed, or was. */
export async function openWatch(
  helper: HelperClient,
  watched: Watched,
  ids: readonly Argument[],
  inAll: number,
  isGone: () => boolean,
): Promise<FileWatch> {
  const { watches, folder } = watched;
  if (watches.size >= watchLimits.perSandbox || inAll >= watchLimits.inAll)
    throw new AppError(
      "limit_exceeded",
      `too many watches (limit: ${watchLimits.perSandbox} per sandbox, ${watchLimits.inAll} in all)`,
    );
  const fifo = `watch-${randomBytes(8).toString("hex")}`;
  const path = join(folder, fifo);
  watches.add(fifo);
  try {
    await helper.request("follow", [...followArguments(watched, fifo), ...ids]);
    return await new WorkspaceWatch(path, isGone, () => watches.delete(fifo)).stands(path);
  } catch (error) {
    watches.delete(fifo);
    const why = messageOf(error);
    throw new AppError("unavailable", `cannot watch the workspace: ${why}`, { cause: error });
  }
}

function followArguments({ id, folder, rootPid, hasInput }: Watched, fifo: string): Argument[] {
  const { files, depth, pathBytes, events, settleMs, intervalMs, idleMs } = watchLimits;
  const sandbox = { id, folder, pid: rootPid, fifo, ...(hasInput ? { skip: "input" } : {}) };
  return Object.entries({ ...sandbox, files, depth, pathBytes, events, settleMs, intervalMs, idleMs });
}

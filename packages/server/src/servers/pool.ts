import { join } from "node:path";
import { AppError } from "../core/errors.ts";
import type { Recorder } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";
import type { ServerContact, ServerRecord } from "../core/server.ts";
import type { LinkFor, ServerLink, ServerPool } from "../core/server-link.ts";
import type { Clock } from "../lib/clock.ts";
import type { ServerBook } from "./server-book.ts";
import { ServerLog } from "./server-log.ts";
import { ServerRuntime } from "./server-runtime.ts";
import type { ServerSandboxes } from "./server-sandboxes.ts";
import { finishTakeOvers } from "./take-over.ts";

export interface PoolParts {
  book: ServerBook;
  sandboxes: ServerSandboxes;
  journal: Recorder;
  /** Folder of the logs, one folder for each server. */
  folder: string;
  clock: Clock;
  onError: (error: unknown) => void;
}

/** Running servers. A server that nobody has called since the daemon started has its record, and nothing here. */
export class RunningServers implements ServerPool, AsyncDisposable {
  readonly #parts: PoolParts;
  readonly #runtimes = new Map<string, ServerRuntime>();
  #isClosed = false;

  private constructor(parts: PoolParts) {
    this.#parts = parts;
  }

  /** Removes what the last daemon left: sandboxes of checks, and those of servers that are gone. */
  static async open(parts: PoolParts): Promise<RunningServers> {
    const { book, sandboxes, onError } = parts;
    const stale = sandboxes.all().filter(({ use, server }) => use === "check" || book.byId(server.id) === undefined);
    await finishTakeOvers(parts);
    await Promise.all(stale.map(({ server, id }) => sandboxes.destroy(server, id).catch(onError)));
    return new RunningServers(parts);
  }

  find({ principal }: Caller, id: string): ServerRecord | undefined {
    const found = this.#parts.book.byId(id);
    return found?.namespace === principal.namespace ? found : undefined;
  }

  contactOf(id: string): ServerContact | undefined {
    return this.#parts.book.current(id)?.contact ?? undefined;
  }

  async connect(caller: Caller, id: string, who: LinkFor, signal: AbortSignal): Promise<ServerLink> {
    const server = this.find(caller, id);
    if (server === undefined) throw new AppError("not_found", `unknown server ${JSON.stringify(id).slice(0, 80)}`);
    return this.runtime(server).connect(who, signal);
  }

  runtime(server: ServerRecord): ServerRuntime {
    if (this.#isClosed) throw new AppError("unavailable", "the daemon is shutting down");
    const found = this.#runtimes.get(server.id);
    if (found !== undefined) return found;
    const { book, sandboxes, journal, clock, onError } = this.#parts;
    let last = server;
    const record = () => {
      last = book.byId(server.id) ?? last;
      return last;
    };
    const current = () => book.current(server.id);
    const own = sandboxes.all().filter((one) => one.server.id === server.id);
    const log = this.logOf(server.id);
    const made = new ServerRuntime({ sandboxes, journal, log, record, current, clock, onError }, own);
    this.#runtimes.set(server.id, made);
    return made;
  }

  /** The runtime of a server that somebody has used since the daemon started. */
  known(serverId: string): ServerRuntime | undefined {
    return this.#runtimes.get(serverId);
  }

  readonly #logs = new Map<string, ServerLog>();

  logOf(serverId: string): ServerLog {
    const found = this.#logs.get(serverId) ?? new ServerLog(join(this.#parts.folder, serverId));
    this.#logs.set(serverId, found);
    return found;
  }

  forget(serverId: string): void {
    this.#runtimes.delete(serverId);
    this.#logs.delete(serverId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const ended = await Promise.allSettled([...this.#runtimes.values()].map((runtime) => runtime.close()));
    for (const one of ended) if (one.status === "rejected") this.#parts.onError(one.reason);
  }
}

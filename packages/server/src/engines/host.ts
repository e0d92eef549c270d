import { once } from "node:events";
import { chmod, chown, lstat, mkdir, unlink } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { geteuid } from "node:process";
import type { EngineSource } from "../core/engine-source.ts";
import { AppError, errnoOf } from "../core/errors.ts";
import { engineSocketLimits } from "../core/limits.ts";
import type { HostFolders } from "./host-folders.ts";
import { HostSession } from "./host-session.ts";
import { describeError, type FromEngine } from "./protocol.ts";

export interface EngineHostOptions {
  /** The socket. Its folder says who may speak: Node cannot ask who is at the other end. */
  path: string;
  /** The daemon's group, beside root's; none where both are the same user. */
  group?: number;
  /** Engines of one daemon; they close with its connection. */
  openEngines: () => EngineSource;
  /** That the daemon may name. */
  folders: HostFolders;
  onError: (error: unknown) => void;
}

/** The engine's process: serves one daemon at a time (SBX-19). */
export class EngineHost implements AsyncDisposable {
  readonly #options: EngineHostOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #serving: Promise<void> | undefined;
  #served: Socket | undefined;
  #next: Socket | undefined;

  private constructor(options: EngineHostOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  static async listen(options: EngineHostOptions): Promise<EngineHost> {
    await makeDoor(dirname(options.path), options.group);
    await unlink(options.path).catch((error: unknown) => {
      if (errnoOf(error) !== "ENOENT") throw error;
    });
    const host = new EngineHost(options);
    host.#server.listen(options.path);
    await once(host.#server, "listening");
    await give(options.path, options.group, 0o660);
    return host;
  }

  /** A daemon that was killed is followed by the next before this process hears of its end: one may wait for that. */
  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => this.#sockets.delete(socket));
    if (this.#next !== undefined) {
      refuse(socket);
      return;
    }
    this.#next = socket;
    if (this.#served === undefined) {
      this.#serving = this.#serve().catch(this.#options.onError);
      return;
    }
    setTimeout(() => {
      if (this.#next !== socket || this.#served?.destroyed !== false) return;
      this.#next = undefined;
      refuse(socket);
    }, engineSocketLimits.handOverMs).unref();
  }

  /** The next daemon is let in once nothing of the former one is under way. */
  async #serve(): Promise<void> {
    try {
      for (let socket = this.#next; socket !== undefined; socket = this.#next) {
        this.#next = undefined;
        if (socket.destroyed) continue;
        this.#served = socket;
        const { openEngines, folders, onError } = this.#options;
        await new HostSession(socket, openEngines(), folders, onError).ended;
      }
    } finally {
      this.#served = undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    await this.#serving;
  }
}

function refuse(socket: Socket): void {
  const refused: FromEngine = { refused: describeError(new AppError("conflict", "the engine has a daemon already")) };
  socket.end(`${JSON.stringify(refused)}\n`, () => socket.destroy());
}

async function makeDoor(folder: string, group: number | undefined): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const info = await lstat(folder);
  if (!info.isDirectory() || info.uid !== geteuid?.())
    throw new AppError("forbidden", `${folder} does not belong to this user`, { hint: "Choose another CAISSON_HOME." });
  await give(folder, group, group === undefined ? 0o700 : 0o710);
}

async function give(path: string, group: number | undefined, mode: number): Promise<void> {
  if (group !== undefined) await chown(path, geteuid?.() ?? 0, group);
  await chmod(path, mode);
}

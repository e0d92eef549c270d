import { once } from "node:events";
import { unlink } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import type { EngineSource } from "../core/engine-source.ts";
import { AppError, errnoOf } from "../core/errors.ts";
import { engineSocketLimits } from "./limits.ts";
import { give, makeFolder } from "./make-folder.ts";
import { describeError, type FromEngine } from "./protocol.ts";
import type { ServerFolders } from "./server-folders.ts";
import { ServerSession } from "./server-session.ts";

export interface EngineServerOptions {
  /** The socket. Its folder says who may speak: Node cannot ask who is at the other end. */
  path: string;
  /** The daemon's group, beside root's; none where both are the same user. */
  group?: number;
  /** Engines of one daemon; they close with its connection. */
  openEngines: () => EngineSource;
  /** Folders that the daemon may name. */
  folders: ServerFolders;
  onError: (error: unknown) => void;
}

/** The engine's process: serves one daemon at a time (SBX-19). */
export class EngineServer implements AsyncDisposable {
  readonly #options: EngineServerOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #serving: Promise<void> | undefined;
  #served: Socket | undefined;
  #next: Socket | undefined;

  private constructor(options: EngineServerOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  static async listen(options: EngineServerOptions): Promise<EngineServer> {
    const { path, group } = options;
    await makeFolder(dirname(path), group === undefined ? 0o700 : 0o710, group);
    await unlink(path).catch((error: unknown) => {
      if (errnoOf(error) !== "ENOENT") throw error;
    });
    const server = new EngineServer(options);
    server.#server.listen(path);
    await once(server.#server, "listening");
    await give(path, 0o660, group);
    return server;
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
        await new ServerSession(socket, openEngines(), folders, onError).ended;
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
  const refused: FromEngine = {
    refused: describeError(new AppError("conflict", "the engine already serves another daemon")),
  };
  socket.end(`${JSON.stringify(refused)}\n`, () => socket.destroy());
}

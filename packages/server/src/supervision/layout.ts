import { join } from "node:path";
import { AppError } from "../core/errors.ts";
import { supervisionLimits } from "./limits.ts";

/** Where things lie in a data folder. */
export interface Layout {
  home: string;
  /** Sandboxes of the engine; root's, but for what it gives to the daemon. */
  sandboxes: string;
  /** The daemon's own. */
  daemon: string;
  run: string;
  engineSocket: string;
  controlSocket: string;
  /** The API for clients on this machine (packages/sdk/src/local-socket.ts). */
  apiSocket: string;
  /** Code that runs with rights, copied to where only root writes. */
  app: string;
  adminKey: string;
  log: string;
}

export function layoutOf(home: string): Layout {
  return {
    home,
    sandboxes: join(home, "engine/sandboxes"),
    daemon: join(home, "daemon"),
    run: join(home, "run"),
    engineSocket: join(home, "run/engine/socket"),
    controlSocket: join(home, "run/control"),
    apiSocket: join(home, "run/api"),
    app: join(home, "app"),
    adminKey: join(home, "admin-key"),
    log: join(home, "daemon.log"),
  };
}

/** What the daemon sees of a data folder that root keeps (native/helper/become.c). */
export const viewOfHome = "/run/caisson/home";

/** The kernel takes 107 bytes as the name of a socket. */
export function checkSocketRoom({ engineSocket, home }: Layout): void {
  if (Buffer.byteLength(engineSocket) <= supervisionLimits.socketPathBytes) return;
  throw new AppError("invalid", `the path of the data folder ${home} is too long for its sockets`, {
    hint: "set CAISSON_HOME to a shorter path",
  });
}

import type { Duplex } from "node:stream";
import { AppError } from "../core/errors.ts";
import type { StraightTunnel } from "../core/tunnel.ts";
import { UpstreamConnection } from "./upstream-connection.ts";

/** Ends a program's connection so that it sees a reset. */
export function reset(client: Duplex): void {
  client.on("error", () => undefined);
  if ("reset" in client && typeof client.reset === "function") client.reset();
  else client.destroy();
}

/** Both ways at once, each at the pace of who reads. One direction may end before the other; a break of one side breaks the other. */
export function join(client: Duplex, upstream: Duplex): void {
  client.on("error", () => undefined);
  client.once("close", () => {
    if (!client.readableEnded || !client.writableFinished)
      upstream.destroy(new AppError("unavailable", "the program closed the connection"));
  });
  upstream.once("close", () => {
    if (!upstream.readableEnded || !upstream.writableFinished) reset(client);
  });
  if (client.destroyed) return void upstream.destroy();
  if (upstream.destroyed) return reset(client);
  if (isStraight(client) && upstream instanceof UpstreamConnection) upstream.joinStraight(client);
  client.pipe(upstream);
  upstream.pipe(client);
}

function isStraight(client: Duplex): client is StraightTunnel {
  return "sendNow" in client;
}

import type { Duplex } from "node:stream";
import { httpLimits } from "./limits.ts";

/**
 * Sends a last text and closes the connection, also where the client keeps it open: no timeout of the server covers such a socket.
 * Bytes that the client still sends are read until then: a reset would destroy the response.
 */
export function endSocket(socket: Duplex, text = ""): void {
  socket.on("error", () => undefined); // the client is gone
  const timer = setTimeout(() => socket.destroy(), httpLimits.lastAnswerMs);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
  socket.end(text);
  socket.resume();
}

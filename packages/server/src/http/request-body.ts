import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { httpLimits } from "./limits.ts";

/** The bytes of a body. To stop early is no end of the connection: what is left is discarded after the answer. */
export function bodyPieces(body: unknown): AsyncIterable<Uint8Array> | undefined {
  if (!(body instanceof Readable)) return undefined;
  return { [Symbol.asyncIterator]: () => body.iterator({ destroyOnReturn: false }) };
}

/** True for a body that is handed on as it comes. */
export function isPieces(body: unknown): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}

/**
 * Reads what nobody wanted of a body, or the next request on this connection would wait behind it for ever.
 * A client that has much more to say, or says nothing, loses its connection.
 */
export function discardRest(body: unknown, done: () => void = () => undefined): void {
  if (!(body instanceof Readable) || body.readableEnded || body.destroyed) return done();
  let bytes = 0;
  const timer = setTimeout(() => body.destroy(), httpLimits.discardMs);
  timer.unref();
  body.on("data", (piece: Uint8Array) => {
    bytes += piece.length;
    if (bytes > httpLimits.discardBytes) body.destroy();
  });
  const end = () => {
    clearTimeout(timer);
    done();
  };
  body.once("close", end);
  body.once("end", end);
  body.on("error", () => undefined); // the client is gone, and so is what it had to say
  body.resume();
}

/** True while more of a body may come, or waits to be read. */
export function isUnread({ headers, readableEnded }: IncomingMessage): boolean {
  const { "content-length": length = "0", "transfer-encoding": encoding } = headers;
  return !readableEnded && (length !== "0" || encoding !== undefined);
}

/** A client that stops in the middle of a body that somebody waits for is let go, and what it began with it. */
export function watchBody(body: IncomingMessage, idleMs: number): void {
  const { socket, headers } = body;
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) return;
  const letGo = () => void socket.destroy();
  socket.setTimeout(idleMs, letGo);
  body.once("end", () => socket.setTimeout(0, letGo)); // or each request would leave a listener on its connection
}

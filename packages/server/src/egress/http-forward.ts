import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AppError, messageOf } from "../core/errors.ts";
import { gateLimits } from "../core/gate-limits.ts";
import { requestOver } from "./dialer.ts";
import { forwardable, requestFraming } from "./forward-headers.ts";
import { answerRaw, answerRefusal, formatHead } from "./http-answer.ts";
import type { HttpTarget } from "./http-target.ts";
import type { Outlet } from "./outlet.ts";
import type { Refusal } from "./refusal.ts";
import { join, reset } from "./relay.ts";

export interface Way {
  target: HttpTarget;
  outlet: Outlet;
}

function send(request: IncomingMessage, { target, outlet }: Way, fields: readonly string[]): ClientRequest {
  const { method = "GET", rawHeaders } = request;
  return requestOver(outlet, {
    method,
    path: target.path,
    headers: ["Host", target.authority, ...forwardable(rawHeaders, ["host", "expect"]), ...fields],
    maxHeaderSize: gateLimits.headBytes,
  });
}

/** What is told when a way out breaks before there was an answer. */
function broken({ target }: Way, error: unknown): Refusal {
  const kind = error instanceof AppError && error.code === "forbidden" ? "denied" : "failed";
  const { destination } = target;
  return { kind, destination, reason: messageOf(error), rule: null, layer: null };
}

export function forwardRequest(request: IncomingMessage, response: ServerResponse, way: Way): void {
  const { outlet } = way;
  const fail = (error: unknown) => {
    outlet.destroy(error instanceof Error ? error : undefined);
    if (response.headersSent) reset(request.socket);
    else answerRefusal(request, response, broken(way, outlet.errored ?? error));
  };
  response.once("close", () => {
    if (!response.writableFinished) outlet.destroy(new AppError("unavailable", "the program went away"));
  });
  if (response.destroyed) return void outlet.destroy();
  const out = send(request, way, requestFraming(request.method ?? "", request.rawHeaders));
  request.on("error", fail);
  out.on("error", fail);
  out.on("response", (answer) => {
    answer.on("error", fail);
    answer.once("end", () => outlet.destroy());
    try {
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? "", forwardable(answer.rawHeaders));
    } catch (error) {
      return fail(error);
    }
    answer.pipe(response);
  });
  request.pipe(out);
}

/** A WebSocket: bytes pass unread once the server has agreed to it, and not before. */
export function forwardUpgrade(request: IncomingMessage, client: Duplex, way: Way): void {
  const { outlet } = way;
  const out = send(request, way, ["Connection", "Upgrade", "Upgrade", "websocket"]);
  client.once("close", () => outlet.destroy());
  out.on("error", (error) =>
    client.writable ? answerRaw(client, broken(way, outlet.errored ?? error)) : reset(client),
  );
  out.on("upgrade", (answer, _socket, head) => {
    const fields = [...forwardable(answer.rawHeaders), "Connection", "Upgrade", "Upgrade", "websocket"];
    client.write(formatHead(101, "Switching Protocols", fields));
    if (head.length > 0) outlet.unshift(head);
    join(client, outlet);
  });
  out.on("response", (answer) => {
    client.write(
      formatHead(answer.statusCode ?? 502, answer.statusMessage ?? "", [
        ...forwardable(answer.rawHeaders),
        "Connection",
        "close",
      ]),
    );
    answer.pipe(client);
    answer.once("end", () => outlet.destroy());
    client.resume();
  });
  out.end();
}

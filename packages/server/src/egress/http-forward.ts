import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { Duplex, Readable } from "node:stream";
import { AppError, messageOf } from "../core/errors.ts";
import { upgradeFields } from "../http-over/ask.ts";
import { forwardable, requestFraming, valuesOf } from "../http-over/fields.ts";
import { formatHead } from "../http-over/head.ts";
import { codedRefusal, isCoded } from "./coded-response.ts";
import type { ConnectionRefusal } from "./connection-refusal.ts";
import { noteDelivery } from "./delivered-file.ts";
import type { AllowedDestination } from "./firewall.ts";
import { gateLimits } from "./gate-limits.ts";
import { answerRaw, answerRefusal } from "./http-response.ts";
import type { HttpTarget } from "./http-target.ts";
import type { Filled } from "./inspection/credentials.ts";
import { join, reset } from "./relay.ts";
import type { RequestChannel } from "./request-channel.ts";

/** Where a request goes, and with which fields. */
export interface Way extends Pick<Filled, "fields" | "mask" | "look"> {
  target: HttpTarget;
  channel: RequestChannel;
  allowed: AllowedDestination;
}

function send(
  { method = "GET" }: IncomingMessage,
  { target, channel, fields }: Way,
  own: readonly string[],
  leaveOut: readonly string[] = [],
): ClientRequest {
  return channel.request({
    method,
    path: target.path,
    headers: ["Host", target.authority, ...forwardable(fields, ["host", "expect", ...leaveOut]), ...own],
    maxHeaderSize: gateLimits.headBytes,
  });
}

/** What is told when a way out breaks before there was an answer. */
function broken({ target }: Way, error: unknown): ConnectionRefusal {
  const kind = error instanceof AppError && error.code === "forbidden" ? "denied" : "failed";
  const { destination } = target;
  return { kind, destination, reason: messageOf(error), rule: null, layer: null };
}

/** Each piece is looked at before the program has it: this comes before `pipe`. */
function lookAt(answer: Readable, { look }: Pick<Way, "look">): void {
  if (look !== undefined) answer.on("data", look);
}

/** A body that holds the value in a form that nobody looks for. */
function isHidden(method: string | undefined, { statusCode, rawHeaders }: IncomingMessage, { look }: Way): boolean {
  const hasBody = method !== "HEAD" && statusCode !== 204 && statusCode !== 304;
  return look !== undefined && hasBody && isCoded(rawHeaders);
}

/** Asks for nothing to be done, and has no body that would be gone. */
function isRepeatable({ method = "", rawHeaders }: IncomingMessage): boolean {
  const framed = ["transfer-encoding", "content-length"].some((name) => valuesOf(rawHeaders, name).length > 0);
  return ["GET", "HEAD", "OPTIONS"].includes(method) && !framed;
}

export function forwardRequest(request: IncomingMessage, response: ServerResponse, way: Way): void {
  const { channel } = way;
  const fail = (error: unknown) => {
    channel.destroy(error instanceof Error ? error : undefined);
    if (response.headersSent) reset(request.socket);
    else answerRefusal(request, response, broken(way, channel.errored ?? error));
  };
  response.once("close", () => {
    if (!response.writableFinished) channel.destroy(new AppError("unavailable", "the program closed the connection"));
  });
  if (response.destroyed) return channel.destroy();
  request.on("error", fail);
  const attempt = (isFirst: boolean) => {
    const out = send(request, way, requestFraming(request.method ?? "", request.rawHeaders));
    out.on("error", (error) => {
      // A connection that was kept may have ended just then, unheard by its server (RFC 9112, 9.3.1).
      if (isFirst && out.reusedSocket && isRepeatable(request) && !response.destroyed && !response.headersSent)
        attempt(false);
      else fail(error);
    });
    out.on("response", (answer) => {
      if (isHidden(request.method, answer, way)) {
        answerRefusal(request, response, codedRefusal(way.target.destination));
        drop(out, answer);
        return channel.destroy();
      }
      answer.on("error", fail);
      answer.once("end", () => channel.done());
      try {
        const [words = "", ...fields] = way.mask([answer.statusMessage ?? "", ...forwardable(answer.rawHeaders)]);
        response.writeHead(answer.statusCode ?? 502, words, fields);
      } catch (error) {
        return fail(error);
      }
      lookAt(answer, way);
      noteDelivery(request, answer, way);
      answer.pipe(response);
    });
    request.pipe(out);
  };
  attempt(true);
}

/** Reads nothing more of an answer. */
function drop(out: ClientRequest, answer: IncomingMessage): void {
  for (const stream of [out, answer]) stream.removeAllListeners("error").on("error", () => undefined);
}

/** A WebSocket: bytes pass unread once the server has agreed to it, and not before. */
export function forwardUpgrade(request: IncomingMessage, client: Duplex, way: Way): void {
  const { channel, mask } = way;
  // No body goes with it: a length would have the server take the next request for one.
  const out = send(request, way, upgradeFields, ["content-length"]);
  client.once("close", () => channel.destroy());
  out.on("error", (error) =>
    client.writable ? answerRaw(client, broken(way, channel.errored ?? error)) : reset(client),
  );
  const refuse = () => {
    channel.destroy();
    answerRaw(client, codedRefusal(way.target.destination));
  };
  out.on("upgrade", (answer, socket: Duplex, head) => {
    if (way.look !== undefined && valuesOf(answer.rawHeaders, "sec-websocket-extensions").length > 0) {
      socket.on("error", () => undefined).destroy();
      return refuse();
    }
    const fields = [...mask(forwardable(answer.rawHeaders)), ...upgradeFields];
    client.write(formatHead(101, "Switching Protocols", fields));
    if (head.length > 0) socket.unshift(head);
    lookAt(socket, way);
    join(client, socket);
  });
  out.on("response", (answer) => {
    if (isHidden(request.method, answer, way)) {
      drop(out, answer);
      return refuse();
    }
    const [words = "", ...fields] = mask([answer.statusMessage ?? "", ...forwardable(answer.rawHeaders)]);
    client.write(formatHead(answer.statusCode ?? 502, words, [...fields, "Connection", "close"]));
    lookAt(answer, way);
    answer.pipe(client);
    answer.once("end", () => channel.done());
    client.resume();
  });
  out.end();
}

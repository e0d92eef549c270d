import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { formatHead } from "../http-over/head.ts";
import { type ConnectionRefusal, formatRefusal, type RefusalResponse } from "./connection-refusal.ts";

/** A mistake of the program's, in the shape of a refusal. */
export function problemResponse(status: number, detail: string): RefusalResponse {
  const body = {
    type: "urn:caisson:error:invalid",
    title: "The request is not valid",
    status,
    detail,
    code: "invalid",
  };
  return {
    status,
    headers: { "content-type": "application/problem+json", "cache-control": "no-store" },
    body: `${JSON.stringify(body)}\n`,
  };
}

function answerOf(answer: ConnectionRefusal | RefusalResponse | string): RefusalResponse {
  if (typeof answer === "string") return problemResponse(400, answer);
  return "kind" in answer ? formatRefusal(answer) : answer;
}

export function answerRefusal(
  request: IncomingMessage,
  response: ServerResponse,
  refusal: ConnectionRefusal | string,
): void {
  const { status, headers, body } = answerOf(refusal);
  // A body that nobody reads would stand before the next request.
  const last = request.complete ? {} : { connection: "close" };
  response.writeHead(status, { ...headers, ...last, "content-length": Buffer.byteLength(body) });
  response.end(body);
}

/** On a connection that is no longer the server's; it ends with this. */
export function answerRaw(client: Duplex, answer: ConnectionRefusal | RefusalResponse | string): void {
  const { status, headers, body } = answerOf(answer);
  const fields = { ...headers, connection: "close", "content-length": String(Buffer.byteLength(body)) };
  client.on("error", () => undefined);
  client.end(formatHead(status, STATUS_CODES[status] ?? "", Object.entries(fields).flat()) + body);
  client.resume();
}

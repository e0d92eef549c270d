/** A hosted server's answer over HTTP: hostile, and nothing of its head goes further (S134). */
import type { IncomingMessage } from "node:http";
import { AppError } from "../core/errors.ts";
import { jsonLimits } from "../core/json-limits.ts";
import { strictJson } from "../core/strict-json.ts";
import { BytePile } from "../lib/byte-pile.ts";
import { decodeMessage, toMessage, tooLarge } from "./decode.ts";
import { gatewayLimits } from "./limits.ts";
import { type Id, isRecord, type Message } from "./message.ts";
import { SseReader } from "./sse-reader.ts";

/** How far a stream was read: what it takes to go on with it. */
export interface StreamEnd {
  lastEventId: string | undefined;
  retryMs: number;
}

export function mediaOf({ headers }: IncomingMessage): "json" | "events" | undefined {
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") return undefined;
  const media = headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  return media === "application/json" ? "json" : media === "text/event-stream" ? "events" : undefined;
}

export async function readWhole(answer: IncomingMessage): Promise<Buffer> {
  const pile = new BytePile();
  for await (const part of answer as AsyncIterable<Buffer>) {
    if (pile.length + part.length > gatewayLimits.messageBytes) throw tooLarge();
    pile.push(part);
  }
  return pile.take();
}

/** Passes on each message of a stream, until the server ends it. */
export async function readEvents(
  answer: IncomingMessage,
  from: StreamEnd | undefined,
  hear: (message: Message) => void,
): Promise<StreamEnd> {
  const reader = new SseReader();
  const end: StreamEnd = from ?? { lastEventId: undefined, retryMs: gatewayLimits.resumeMs };
  for await (const part of answer as AsyncIterable<Buffer>)
    for (const { id, retryMs, data } of reader.push(part)) {
      if (id !== undefined) end.lastEventId = id;
      if (retryMs !== undefined) end.retryMs = Math.min(retryMs, gatewayLimits.resumeMs);
      if (data.length > 0) hear(decodeMessage(data));
    }
  return end;
}

/** A status that is an error, as a message: the one in its body, or one that names the status. */
export async function refusalOf(answer: IncomingMessage, id: Id): Promise<Message> {
  const failed = new AppError("unavailable", `the server answered with HTTP status ${answer.statusCode}`);
  if (mediaOf(answer) !== "json") throw failed;
  try {
    const value = strictJson(await readWhole(answer), jsonLimits.request);
    const message = toMessage(
      isRecord(value) && (value.id === null || value.id === undefined) ? { ...value, id } : value,
    );
    if ("error" in message && message.id === id) return message;
  } catch {
    // a body of any form: the status is all that is said
  }
  throw failed;
}

import { ApiError, ConnectionError, type Problem } from "./error.ts";
import { readLines } from "./lines.ts";
import type { Call, Transport } from "./transport.ts";

export interface LiveOptions {
  signal?: AbortSignal;
}

type Wrapped<T> = T | ({ type: "error" } & Problem) | { type: "heartbeat" };

/**
 * The messages of a live stream, as they come. What the daemon says of an error is thrown; leaving the loop ends the
 * request. A stream that has a last message and ends without it broke off.
 */
export async function* readLive<T extends { type: string }>(
  transport: Transport,
  method: string,
  path: string,
  call: Call = {},
  lastType?: T["type"],
): AsyncGenerator<T, void> {
  const headers = { ...call.headers, accept: "application/x-ndjson" };
  const response = await transport.send(method, path, { timeoutMs: null, ...call, headers });
  for await (const message of readLines<Wrapped<T>>(response)) {
    if (message.type === "heartbeat") continue;
    if (message.type === "error") throw new ApiError(message as unknown as Problem);
    yield message as T;
    if (message.type === lastType) return;
  }
  if (lastType !== undefined) throw new ConnectionError("the stream broke off");
}

import type { WireStream } from "../core/wire.ts";

export type Body = string | Uint8Array | AsyncIterable<Uint8Array>;

/** Sends a body to its end, or until the other side has closed its input. */
export async function sendBody(stream: WireStream, body: Body): Promise<void> {
  if (typeof body === "string" || body instanceof Uint8Array) {
    await stream.write(typeof body === "string" ? Buffer.from(body) : body);
  } else {
    for await (const chunk of body) if (!(await stream.write(chunk))) break;
  }
  stream.end();
}

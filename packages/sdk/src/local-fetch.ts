import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request as startRequest } from "node:http";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

const decoders: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** `fetch` over a Unix socket, without redirects. Each request has a connection of its own: a daemon may have started again. */
export function localFetch(socketPath: string): typeof fetch {
  return async (input, init = {}) => {
    const asked = new Request(input, init);
    asked.signal.throwIfAborted();
    const { pathname, search } = new URL(asked.url);
    const headers = { ...Object.fromEntries(asked.headers), ...lengthOf(init.body), host: "localhost" };
    const { method, signal } = asked;
    const request = startRequest({ socketPath, agent: false, method, path: pathname + search, headers, signal });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request.once("response", resolve);
      // After the response has begun its body tells of the failure.
      request.on("error", (cause) => reject(signal.aborted ? signal.reason : new TypeError("fetch failed", { cause })));
    });
    send(request, asked.body).catch((cause: unknown) => request.destroy(cause as Error));
    const message = await answered;
    const isRedirect = message.statusCode !== undefined && message.statusCode >= 300 && message.statusCode < 400;
    if (isRedirect && message.statusCode !== 304 && asked.redirect !== "manual") {
      message.destroy();
      throw new TypeError("fetch failed: unexpected redirect");
    }
    return toResponse(message, method);
  };
}

function lengthOf(body: RequestInit["body"]): { "content-length"?: string } {
  if (typeof body === "string") return { "content-length": String(Buffer.byteLength(body)) };
  if (body instanceof Uint8Array) return { "content-length": String(body.byteLength) };
  return body instanceof Blob ? { "content-length": String(body.size) } : {};
}

async function send(request: ClientRequest, body: ReadableStream<Uint8Array> | null): Promise<void> {
  const closed = once(request, "close").catch(() => {}); // its listener for errors has told
  for await (const chunk of body ?? []) {
    if (!request.write(chunk)) await Promise.race([once(request, "drain").catch(() => {}), closed]);
    if (request.destroyed) return; // refused, or aborted
  }
  request.end();
}

function toResponse(message: IncomingMessage, method: string): Response {
  const { statusCode: status = 502, statusMessage: statusText = "", rawHeaders } = message;
  const headers = new Headers();
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i] ?? "", rawHeaders[i + 1] ?? "");
  const hasBody = method !== "HEAD" && ![204, 205, 304].includes(status);
  if (!hasBody) message.resume();
  return new Response(hasBody ? bodyOf(message) : null, { status, statusText, headers });
}

function bodyOf(message: IncomingMessage): ReadableStream<Uint8Array> {
  const decoder = decoders[message.headers["content-encoding"] ?? ""]?.();
  const source = (
    decoder === undefined ? message : message.on("error", (error) => decoder.emit("error", error)).pipe(decoder)
  ) as Readable;
  const pieces = source[Symbol.asyncIterator]();
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(new Uint8Array(value));
    },
    cancel: () => void message.destroy(),
  });
}

/** Files of registries that never change under their name: from those that are kept, or kept as they pass (EXE-10, S61). */
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { DownloadDraft, Downloads } from "../core/download.ts";
import { messageOf } from "../core/errors.ts";
import { valuesOf } from "../http-over/fields.ts";
import { gateLimits } from "./gate-limits.ts";
import type { Way } from "./http-forward.ts";
import { answerRefusal } from "./http-response.ts";
import { reset } from "./relay.ts";

/** What an index gives out under a name for good. */
const lasting = /^\/[^?#]*\.(whl|tar\.gz|tgz|zip|deb)$/;

/** Whether a request is for such a file, whole, by somebody whom the file is no secret to. */
export function isDownload({ method, rawHeaders }: IncomingMessage, { target, allowed, look }: Way): boolean {
  const special = ["range", "authorization", "cookie", "content-length", "transfer-encoding"];
  return (
    allowed.verdict.rule.keepsFiles === true &&
    look === undefined &&
    method === "GET" &&
    lasting.test(target.path) &&
    special.every((name) => valuesOf(rawHeaders, name).length === 0)
  );
}

export async function forwardDownload(
  request: IncomingMessage,
  response: ServerResponse,
  way: Way,
  downloads: Downloads,
): Promise<void> {
  const { channel, target, allowed } = way;
  const { host, port } = target.destination;
  const url = `${allowed.verdict.rule.protocol} ${host}:${port}${target.path}`;
  const found = await downloads.find(url);
  if (found !== undefined) {
    channel.done();
    response.writeHead(200, { "content-type": "application/octet-stream", "content-length": found.bytes });
    return pipeline(found.read(), response).catch(() => reset(request.socket));
  }
  try {
    await pass(response, way, (bytes) => downloads.keep(url, bytes));
  } catch (error) {
    channel.destroy(error instanceof Error ? error : undefined);
    if (response.headersSent) return reset(request.socket);
    const refusal = { kind: "failed", destination: target.destination, reason: messageOf(error) } as const;
    answerRefusal(request, response, { ...refusal, rule: null, layer: null });
  }
}

/** Asks in words of our own: nothing that a sandbox says decides what others get. */
async function pass(
  response: ServerResponse,
  { channel, target }: Way,
  keep: (bytes: number) => Promise<DownloadDraft | undefined>,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = [
    "Host",
    target.authority,
    "Accept",
    "*/*",
    "Accept-Encoding",
    "identity",
    "Connection",
    "keep-alive",
  ];
  const out = channel.request({ method: "GET", path: target.path, headers, maxHeaderSize: gateLimits.headBytes });
  response.once("close", () => {
    if (!response.writableFinished) channel.destroy(new Error("the program closed the connection"));
  });
  out.once("response", resolve).once("error", reject).end();
  const answer = await promise;
  const { statusCode = 502, headers: told } = answer;
  const bytes = Number(told["content-length"]);
  const lasts = statusCode === 200 && Number.isSafeInteger(bytes) && told["content-encoding"] === undefined;
  const fields = ["content-type", "content-length", "location"].flatMap((name) =>
    valuesOf(answer.rawHeaders, name).map((value) => [name, value] as const),
  );
  response.writeHead(statusCode, Object.fromEntries(fields));
  await using draft = lasts ? await keep(bytes) : undefined;
  // Not by a pipeline: a file that breaks off must not look whole to the program.
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    await draft?.write(chunk);
    if (!response.write(chunk)) await drained(response);
  }
  await draft?.commit();
  channel.done();
  response.end();
}

async function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  response.on("drain", resolve).on("close", resolve);
  await promise;
  response.off("drain", resolve).off("close", resolve);
}

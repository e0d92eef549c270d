import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { codedRefusal, isCoded } from "../coded-response.ts";
import { type ConnectionRefusal, formatRefusal, type RefusalResponse } from "../connection-refusal.ts";
import type { AllowedDestination } from "../firewall.ts";
import type { Filled } from "./credentials.ts";
import { fieldsOf, headersOf } from "./http2-fields.ts";

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = constants;

/** In place of the host. What more of a body comes is not read. */
export function answerStream(stream: ServerHttp2Stream, answer: ConnectionRefusal | RefusalResponse): void {
  if (stream.destroyed || stream.headersSent) return;
  const { status, headers, body } = "kind" in answer ? formatRefusal(answer) : answer;
  stream.respond({ ":status": status, ...headers, "content-length": Buffer.byteLength(body) });
  stream.end(body);
  stream.close(NGHTTP2_NO_ERROR);
}

/** One exchange, both ways at once, with its trailers. A break of one side breaks the other in the same way. */
export function forwardStream(
  stream: ServerHttp2Stream,
  far: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  { mask, look, allowed }: Pick<Filled, "mask" | "look"> & { allowed: AllowedDestination },
  broken: (error: unknown) => ConnectionRefusal,
): void {
  const hasBody = !stream.endAfterHeaders;
  const out = far.request(headers, { endStream: !hasBody, waitForTrailers: hasBody });
  const show = (answer: IncomingHttpHeaders) => ({
    ":status": answer[":status"],
    ...headersOf(mask(fieldsOf(answer))),
  });
  let isAnswered = false;
  // A host that has said all need not hear the rest.
  const settle = () => {
    if (hasBody && isAnswered && out.closed && !stream.destroyed && !stream.readableEnded)
      stream.close(NGHTTP2_NO_ERROR);
  };
  passTrailers(stream, out, (fields) => headersOf(fields));
  passTrailers(out, stream, (fields) => {
    isAnswered = true;
    setImmediate(settle);
    return headersOf(mask(fields));
  });
  out.on("headers", (answer) => {
    if (!stream.destroyed && !stream.headersSent) attempt([stream, out], () => stream.additionalHeaders(show(answer)));
  });
  out.on("response", (answer) => {
    if (stream.destroyed) return;
    const isWhole = out.endAfterHeaders;
    if (look !== undefined && !isWhole && isCoded(fieldsOf(answer))) {
      answerStream(stream, codedRefusal(allowed.destination));
      return out.close(NGHTTP2_CANCEL);
    }
    attempt([stream, out], () => {
      stream.respond(show(answer), { endStream: isWhole, waitForTrailers: !isWhole });
      isAnswered = isWhole;
      if (look !== undefined) out.on("data", look);
      if (!isWhole) out.pipe(stream);
    });
  });
  let reason: unknown;
  out.on("error", (error) => {
    reason = error;
  });
  out.on("close", () => {
    if (stream.destroyed || stream.closed) return;
    if (stream.headersSent && out.rstCode === NGHTTP2_NO_ERROR && out.readableEnded) settle();
    else if (stream.headersSent || reason === undefined || out.rstCode !== NGHTTP2_NO_ERROR)
      stream.close(out.rstCode || NGHTTP2_CANCEL);
    else answerStream(stream, broken(reason));
  });
  stream.on("close", () => {
    if (!out.destroyed && !out.readableEnded) out.close(stream.rstCode || NGHTTP2_CANCEL);
  });
  if (hasBody) stream.pipe(out);
  else stream.resume();
}

type Stream = ServerHttp2Stream | ClientHttp2Stream;

/** What one side may say and cannot be said to the other ends this exchange, and no more: events have nobody else who would catch it. */
function attempt(streams: readonly Stream[], act: () => void): void {
  try {
    act();
  } catch {
    for (const stream of streams) stream.close(NGHTTP2_INTERNAL_ERROR);
  }
}

function passTrailers(from: Stream, to: Stream, make: (fields: string[]) => OutgoingHttpHeaders): void {
  let trailers: string[] = [];
  from.on("trailers", (fields: IncomingHttpHeaders) => {
    trailers = fieldsOf(fields);
  });
  to.on("wantTrailers", () => attempt([from, to], () => to.sendTrailers(make(trailers))));
}

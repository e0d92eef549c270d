/** HTTP/2 of a program whose TLS was ended here. Each stream is judged; the host is spoken to on one connection (NET-08). */
import {
  type ClientHttp2Session,
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  sensitiveHeaders,
} from "node:http2";
import type { TLSSocket } from "node:tls";
import { AppError, messageOf } from "../../core/errors.ts";
import { type AdmitParts, admit } from "../admit.ts";
import type { ConnectionRefusal } from "../connection-refusal.ts";
import { http2Over } from "../dialer.ts";
import type { AllowedDestination } from "../firewall.ts";
import { gateLimits, inspectionLimits } from "../gate-limits.ts";
import { problemResponse } from "../http-response.ts";
import { parseAuthority } from "../proxy-target.ts";
import { readHost } from "../read-host.ts";
import { reset } from "../relay.ts";
import type { UpstreamConnection } from "../upstream-connection.ts";
import { fieldsOf, headersOf } from "./http2-fields.ts";
import { answerStream, forwardStream } from "./http2-forward.ts";

export type UpstreamTls =
  | { socket: TLSSocket; upstream: UpstreamConnection; refusal?: undefined }
  | { refusal: ConnectionRefusal };

const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_REFUSED_STREAM } = constants;
const bounds = {
  maxSessionMemory: inspectionLimits.sessionMegabytes,
  maxHeaderListPairs: gateLimits.headers,
  settings: {
    enablePush: false,
    initialWindowSize: inspectionLimits.windowBytes,
    maxConcurrentStreams: inspectionLimits.streams,
    maxHeaderListSize: gateLimits.headBytes,
  },
};

export function serveHttp2(parts: AdmitParts, client: TLSSocket, allowed: AllowedDestination, host: UpstreamTls): void {
  const near = performServerHandshake(client, bounds);
  const far = host.refusal === undefined ? reachHost(near, client, allowed, host) : undefined;
  const connection = {
    allowed,
    far,
    refusal: host.refusal,
    upstream: host.refusal === undefined ? host.upstream : undefined,
  };
  let open = 0;
  let requests = 0;
  near.setLocalWindowSize(inspectionLimits.windowBytes);
  near.on("error", () => undefined);
  near.setTimeout(gateLimits.keepAliveMs, () => {
    if (open === 0) near.destroy();
  });
  near.on("stream", (stream, headers) => {
    open++;
    stream.on("error", () => undefined).once("close", () => open--);
    if (++requests >= gateLimits.requests) near.close();
    serveStream(parts, stream, headers, connection).catch(() => stream.close(NGHTTP2_INTERNAL_ERROR));
  });
}

interface Connection {
  allowed: AllowedDestination;
  far: ClientHttp2Session | undefined;
  refusal: ConnectionRefusal | undefined;
  upstream: UpstreamConnection | undefined;
}

/** Whatever ends one of the two ends the other: streams that are open may end by themselves, new ones find nobody. */
function reachHost(
  near: ServerHttp2Session,
  client: TLSSocket,
  { destination }: AllowedDestination,
  { socket, upstream }: { socket: TLSSocket; upstream: UpstreamConnection },
): ClientHttp2Session {
  const far = http2Over(socket, `https://${destination.host}:${destination.port}`, bounds);
  far.once("connect", () => far.setLocalWindowSize(inspectionLimits.windowBytes));
  far.on("error", () => undefined);
  far.on("goaway", (code) => {
    if (!near.destroyed) near.goaway(code);
    near.close();
  });
  far.on("close", () => near.close());
  near.on("close", () => upstream.destroy());
  upstream.once("close", () => {
    if (upstream.errored !== null) reset(client);
  });
  return far;
}

async function serveStream(
  parts: AdmitParts,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  connection: Connection,
): Promise<void> {
  const { far, refusal, upstream } = connection;
  const { destination } = connection.allowed;
  if (refusal !== undefined) return answerStream(stream, refusal);
  const read = readRequest(headers, destination);
  if ("problem" in read) {
    await parts.firewall.note(destination, read.problem);
    return answerStream(stream, problemResponse(400, read.problem));
  }
  const asked = { destination, ...read, fields: fieldsOf(headers), isInspected: true };
  const admitted = await admit(parts, asked, connection.allowed);
  if (admitted.refusal !== undefined) return answerStream(stream, admitted.refusal);
  if (stream.destroyed) return;
  if (far === undefined || far.closed || far.destroyed) return stream.close(NGHTTP2_REFUSED_STREAM);
  const { host: _, ...fields } = headersOf(admitted.fields);
  const out = {
    ":method": read.method,
    ":path": read.path,
    ":scheme": "https",
    ":authority": read.authority,
    ...fields,
  };
  const changed = admitted.fields.filter(
    (_text, index) => index % 2 === 0 && !asked.fields.includes(admitted.fields[index + 1] ?? ""),
  );
  forwardStream(stream, far, { ...out, [sensitiveHeaders]: changed }, admitted, (error) => {
    const cause = upstream?.errored ?? error;
    const kind = cause instanceof AppError && cause.code === "forbidden" ? "denied" : "failed";
    return { kind, destination, reason: messageOf(cause), rule: null, layer: null };
  });
}

type Read = { method: string; path: string; authority: string } | { problem: string };

/** `:authority`, and Host where there is one, must be the name of the connection; else it is another host's request. */
function readRequest(headers: IncomingHttpHeaders, destination: AllowedDestination["destination"]): Read {
  const { ":method": method = "", ":path": path = "", ":scheme": scheme, ":authority": named, host } = headers;
  if (method === "CONNECT" || headers[":protocol"] !== undefined) return { problem: "CONNECT goes to the proxy" };
  if (scheme !== "https") return { problem: "the scheme is not https" };
  if (!/^(\/[\x21-\x7e]*|\*)$/.test(path)) return { problem: "the target is not a path" };
  const said = [named ?? [], host ?? []].flat();
  const strange = said.find((authority) => !isSame(authority, destination));
  if (strange !== undefined || said.length === 0)
    return { problem: `:authority is ${JSON.stringify(strange ?? "")}, but the connection is to ${destination.host}` };
  return { method, path, authority: said[0] ?? destination.host };
}

function isSame(authority: string, { host, port }: AllowedDestination["destination"]): boolean {
  const said = parseAuthority(authority, 443);
  const read = readHost(said?.host ?? "");
  return "host" in read && read.host === host && said !== undefined && (said.port === port || said.port === 443);
}

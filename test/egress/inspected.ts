import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  createSecureServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { vi } from "vitest";
import { certificate, certificateKey } from "./certificate.ts";
import { type FieldOptions, field } from "./field.ts";
import { dnsHost } from "./hosts.ts";
import { names, tls } from "./rules.ts";

export const inspected = (host = "allowed.example", port = 443) => ({ ...tls(host, port), inspect: true });

/** Once it holds, however slow the machine is. */
export function soon<T>(check: () => T): Promise<T> {
  return vi.waitFor(check, { timeout: 30_000, interval: 10 });
}

/** A gate whose rules look into TLS, and programs that trust its authority. */
export async function inspectedField(options: FieldOptions & { port: number; trustHost?: boolean }) {
  const folder = await mkdtemp(join(tmpdir(), "caisson-inspect-"));
  const caFile = join(folder, "host.pem");
  await writeFile(caFile, certificate);
  const dns = await dnsHost(names);
  const policy = { allow: [inspected()], ...options.policy };
  const box = await field({
    ...(options.trustHost === false ? {} : { caFile }),
    dns: dns.address,
    ports: { 443: options.port, 80: options.port },
    ...options,
    policy,
  });
  const authority = () =>
    soon(() => {
      const placed = box.tunnels.placed.get("caisson/ca.pem");
      if (placed === undefined) throw new Error("no authority is placed");
      return placed;
    });
  /** TLS of a program, by the proxy unless it is to a name's own address. */
  const open = async (
    host: string,
    { protocols, ca, direct = false }: { protocols?: string[]; ca?: string; direct?: boolean } = {},
  ): Promise<TLSSocket> => {
    const socket = direct
      ? await box.tunnels.connect(String(await box.lookup(host)), 443)
      : await tunnel(await box.tunnels.connect("127.64.0.1", 3128), host);
    const program = connect({
      socket,
      servername: host,
      ca: ca ?? (await authority()),
      ...(protocols === undefined ? {} : { ALPNProtocols: protocols }),
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    program.once("secureConnect", resolve).on("error", reject);
    program.once("close", () => reject(new Error("the handshake failed")));
    await promise.catch((error) => {
      socket.resetAndDestroy();
      throw error;
    });
    return program;
  };
  return {
    ...box,
    folder,
    authority,
    open,
    async http2(host: string, direct = false): Promise<ClientHttp2Session> {
      const socket = await open(host, { protocols: ["h2"], direct });
      const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
      session.on("error", () => undefined);
      return session;
    },
    async [Symbol.asyncDispose]() {
      await box[Symbol.asyncDispose]();
      await dns[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

async function tunnel(socket: Socket, host: string): Promise<Socket> {
  socket.write(`CONNECT ${host}:443 HTTP/1.1\r\n\r\n`);
  const [answer] = (await once(socket, "data")) as [Buffer];
  if (!answer.toString().startsWith("HTTP/1.1 200")) throw new Error(answer.toString());
  return socket;
}

export interface Answered {
  status: number;
  /** Beside it, on HTTP/1.1. */
  words?: string;
  headers: IncomingHttpHeaders;
  trailers: IncomingHttpHeaders;
  body: string;
}

/** One request on a connection that stays. */
export async function ask(
  program: TLSSocket,
  path = "/",
  {
    method = "GET",
    headers = {},
    body = "",
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answered> {
  const fields = {
    host: "allowed.example",
    connection: "keep-alive",
    "content-length": String(body.length),
    ...headers,
  };
  const request = httpRequest({ method, path, headers: fields, createConnection: () => program });
  request.end(body);
  const [answer] = await once(request, "response");
  let text = "";
  for await (const chunk of answer.setEncoding("utf8")) text += chunk;
  return {
    status: answer.statusCode,
    words: answer.statusMessage,
    headers: answer.headers,
    trailers: answer.trailers,
    body: text,
  };
}

export async function askHttp2(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  { body, trailers }: { body?: string; trailers?: OutgoingHttpHeaders } = {},
): Promise<Answered> {
  const stream = session.request(
    { ":authority": "allowed.example", ...headers },
    { endStream: body === undefined, waitForTrailers: trailers !== undefined },
  );
  if (trailers !== undefined) stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  if (body !== undefined) stream.end(body);
  let after: IncomingHttpHeaders = {};
  stream.on("trailers", (fields) => {
    after = fields;
  });
  const [answer] = (await once(stream, "response")) as [IncomingHttpHeaders];
  let text = "";
  for await (const chunk of stream.setEncoding("utf8")) text += chunk;
  return { status: Number(answer[":status"]), headers: answer, trailers: after, body: text };
}

/** A host that speaks HTTP/2, and does as told with each stream. */
export async function http2Host(serve: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void) {
  const server = createSecureServer({ cert: certificate, key: certificateKey });
  const streams: IncomingHttpHeaders[] = [];
  const sessions = new Set<{ destroy(): void; goaway(): void }>();
  let connections = 0;
  server.on("session", (session) => {
    connections++;
    sessions.add(session);
    session.on("error", () => undefined);
  });
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    streams.push(headers);
    serve(stream, headers);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    streams,
    connections: () => connections,
    goaway: () => {
      for (const session of sessions) session.goaway();
    },
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Hosts of the world, on loopback: a name server that remembers what it was asked, and servers that remember who came. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer as createHttp, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { World } from "../../packages/server/src/egress/connect.ts";
import { dial } from "../../packages/server/src/egress/dialer.ts";
import { certificate, certificateKey } from "./certificate.ts";

export interface TestHost extends AsyncDisposable {
  port: number;
  /** How many connections have come. */
  connections(): number;
}

export interface WebHost extends TestHost {
  server: Server;
  requests: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[];
}

export async function openHost(server: Server): Promise<TestHost> {
  const sockets = new Set<Socket>();
  let count = 0;
  server.on("connection", (socket: Socket) => {
    count++;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => count,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers each request with what it was, or as told. */
export async function webHost({
  tls = false,
  answer,
}: {
  tls?: boolean;
  answer?: RequestListener;
} = {}): Promise<WebHost> {
  const requests: WebHost["requests"] = [];
  const listener: RequestListener = async (request, response) => {
    const { method = "", url = "", headers } = request;
    let body = "";
    try {
      for await (const chunk of request.setEncoding("latin1")) body += chunk;
    } catch {
      return; // it went away
    }
    requests.push({ method, url, headers, body });
    if (answer !== undefined) answer(request, response);
    else response.end(`${method} ${url} ${body.length}`);
  };
  const server = tls ? createHttps({ cert: certificate, key: certificateKey }, listener) : createHttp(listener);
  return { requests, server, ...(await openHost(server)) };
}

/** One that does as told with each connection; unless told, it sends everything back. */
export function tcpHost(serve: (socket: Socket) => void = (socket) => void socket.pipe(socket)): Promise<TestHost> {
  return openHost(createServer({ allowHalfOpen: true }, serve));
}

export interface TestDns extends AsyncDisposable {
  /** For a setting. */
  address: string;
  asked: string[];
}

/** Knows the addresses of some names, and says of all others that they are not there. An address list is used up one by one. */
export async function dnsHost(names: Readonly<Record<string, string | string[]>>): Promise<TestDns> {
  const asked: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (message, { address, port }) => {
    const { name, end } = readName(message);
    asked.push(name);
    const isA = message.readUInt16BE(end) === 1;
    const known = names[name];
    const list = known === undefined ? [] : [known].flat();
    const header = Buffer.from(message.subarray(0, 12));
    header.writeUInt16BE(known === undefined ? 0x8583 : 0x8580, 2);
    header.writeUInt16BE(isA ? list.length : 0, 6);
    header.fill(0, 8);
    const records = isA
      ? list.map((text) => Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...text.split(".").map(Number)]))
      : [];
    socket.send(Buffer.concat([header, message.subarray(12, end + 4), ...records]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => socket.close(resolve));
    },
  };
}

function readName(message: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), end: at + 1 };
}

/** A question as a resolver asks it. */
export function dnsQuestion(name: string, type = 1): Buffer {
  const labels = name.split(".").flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]);
  return Buffer.concat([Buffer.from([0, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]), ...labels, Buffer.from([0, 0, type, 0, 1])]);
}

/** A world in which every name is at a public address, which is this machine: `portOf` says where its ports lead. */
export function publicWorld(portOf: (port: number) => number): World {
  return {
    resolve: async () => ["192.88.98.1"],
    dial: (_address, port, signal) => dial("127.0.0.1", portOf(port), signal),
    isOwnAddress: () => false,
  };
}

import { once } from "node:events";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { certificate } from "./certificate.ts";
import { drain, exchange, field } from "./field.ts";
import { dnsHost, tcpHost, webHost } from "./hosts.ts";
import { http, names, tcp, tls } from "./rules.ts";

const at = "127.64.0.1";
const problemOf = (text: string) => JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4));

/** Until the head of an answer is whole. */
async function head(socket: Socket): Promise<string> {
  let text = "";
  while (!text.includes("\r\n\r\n")) text += String((await once(socket, "data"))[0]);
  return text;
}

describe("the HTTP proxy of a sandbox", () => {
  it("[NET-04] takes each request of a connection where it asks to go, and writes its Host anew", async () => {
    await using host = await webHost();
    await using dns = await dnsHost(names);
    const policy = { allow: [http("allowed.example", host.port), http("www.allowed.example", host.port)] };
    await using box = await field({ policy, dns: dns.address });
    const socket = await box.tunnels.connect(at, 3128);
    const ask = (name: string, more: string) =>
      `POST http://${name}:${host.port}/a?b HTTP/1.1\r\nHost: other.example\r\nProxy-Authorization: Basic x\r\nX-Kept: 1\r\n${more}`;
    const { text } = await exchange(
      socket,
      `${ask("allowed.example", "Content-Length: 3\r\n\r\nabc")}${ask("www.allowed.example", "Transfer-Encoding: chunked\r\nConnection: close, x-gone\r\nX-Gone: 1\r\n\r\n5\r\nhello\r\n0\r\n\r\n")}`,
    );
    expect(text).toMatch(/POST \/a\?b 3[\s\S]*POST \/a\?b 5/);
    expect(host.requests.map(({ headers, body }) => ({ host: headers.host, body }))).toEqual([
      { host: `allowed.example:${host.port}`, body: "abc" },
      { host: `www.allowed.example:${host.port}`, body: "hello" },
    ]);
    expect(host.requests[1]?.headers).toMatchObject({ "x-kept": "1" });
    expect(host.requests[1]?.headers).not.toHaveProperty("x-gone");
    expect(host.requests[0]?.headers).not.toHaveProperty("proxy-authorization");
  });

  it("[NET-01] refuses what no rule knows, says that it was policy, and asks no name server", async () => {
    await using dns = await dnsHost(names);
    await using box = await field({ dns: dns.address });
    const { text } = await exchange(
      await box.tunnels.connect(at, 3128),
      "GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n",
    );
    expect(text).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(problemOf(text)).toMatchObject({
      status: 403,
      code: "forbidden",
      detail: "other.example:80 is not allowed: no rule allows other.example",
      hint: expect.stringContaining("caisson egress"),
      details: { refused: "egress", host: "other.example", port: 80, rule: null },
    });
    const connect = await exchange(await box.tunnels.connect(at, 3128), "CONNECT other.example:443 HTTP/1.1\r\n\r\n");
    expect(connect.text).toMatch(/^HTTP\/1\.1 403 /);
    expect(problemOf(connect.text)).toMatchObject({ details: { host: "other.example", port: 443 } });
    expect(dns.asked).toEqual([]);
  });

  it("[NET-04] opens a tunnel for TLS to an allowed host, and breaks one whose hello names another", async () => {
    await using host = await webHost({ tls: true });
    await using dns = await dnsHost(names);
    await using box = await field({ policy: { allow: [tls("allowed.example", host.port)] }, dns: dns.address });
    const open = async (servername: string) => {
      const socket = await box.tunnels.connect(at, 3128);
      socket.write(`CONNECT allowed.example:${host.port} HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect(await head(socket)).toMatch(/^HTTP\/1\.1 200 /);
      return connectTls({ socket, servername, ca: certificate });
    };
    const request = "GET /t HTTP/1.1\r\nHost: allowed.example\r\nConnection: close\r\n\r\n";
    expect((await exchange(await open("allowed.example"), request)).text).toContain("GET /t 0");
    expect(await exchange(await open("other.example"), request)).toEqual({ text: "", reset: true });
    expect(host.requests.length).toBe(1);
    expect(box.attempts.at(-1)?.end).toMatchObject({ reason: "its ClientHello names other.example", bytesUp: 0 });
  });

  it("[NET-07] reads HTTP inside a tunnel too, where the rule says http", async () => {
    await using host = await webHost();
    await using dns = await dnsHost(names);
    await using box = await field({ policy: { allow: [http("allowed.example", host.port)] }, dns: dns.address });
    const socket = await box.tunnels.connect(at, 3128);
    socket.write(`CONNECT allowed.example:${host.port} HTTP/1.1\r\n\r\n`);
    await head(socket);
    const { text } = await exchange(
      socket,
      `GET /1 HTTP/1.1\r\nHost: allowed.example:${host.port}\r\n\r\nGET /2 HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n`,
    );
    expect(text).toMatch(/GET \/1 0[\s\S]*400 Bad Request/);
    expect(host.requests.map(({ url }) => url)).toEqual(["/1"]);
  });

  it("[NET-06] refuses addresses that no rule names, in any notation", async () => {
    await using host = await webHost();
    await using box = await field({ policy: { allow: [http("allowed.example", host.port)] } });
    for (const address of ["127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0", "localhost"]) {
      const request = `GET http://${address}:${host.port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
      expect((await exchange(await box.tunnels.connect(at, 3128), request)).text).toMatch(/^HTTP\/1\.1 403 /);
    }
    expect(host.connections()).toBe(0);
  });

  it("takes the address that a program has looked up for its name", async () => {
    await using host = await webHost();
    await using dns = await dnsHost(names);
    await using box = await field({ policy: { allow: [http("allowed.example", host.port)] }, dns: dns.address });
    const address = await box.lookup("allowed.example");
    const request = `GET http://${address}:${host.port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    expect((await exchange(await box.tunnels.connect(at, 3128), request)).text).toMatch(/^HTTP\/1\.1 200 /);
  });

  it.each([
    ["two lengths", "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"],
    ["a length and chunks", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET"],
    ["a chunk size that is none", "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n"],
    ["a chunk that is longer than it says", "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n"],
    ["chunked not last", "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"],
    ["a space before the colon", "X-A : 1\r\n\r\n"],
    ["a bare line feed in a field", "X-A: 1\nX-B: 2\r\n\r\n"],
    ["a bare carriage return", "X-A: 1\rX-B: 2\r\n\r\n"],
    ["a zero byte", "X-A: \0\r\n\r\n"],
  ])("[NET-07] lets no request through that has %s", async (_, rest) => {
    await using host = await webHost();
    await using dns = await dnsHost(names);
    await using box = await field({ policy: { allow: [http("allowed.example", host.port)] }, dns: dns.address });
    const socket = await box.tunnels.connect(at, 3128);
    await exchange(socket, `POST http://allowed.example:${host.port}/x HTTP/1.1\r\nHost: x\r\n${rest}`);
    expect(host.requests).toEqual([]);
  });

  it("[NET-07] passes a folded field on as one line", async () => {
    await using host = await webHost();
    await using dns = await dnsHost(names);
    await using box = await field({ policy: { allow: [http("allowed.example", host.port)] }, dns: dns.address });
    const socket = await box.tunnels.connect(at, 3128);
    const folded = `GET http://allowed.example:${host.port}/x HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n Host: other.example\r\nConnection: close\r\n\r\n`;
    await exchange(socket, folded);
    expect(host.requests.every(({ headers }) => headers.host === `allowed.example:${host.port}`)).toBe(true);
  });

  it("takes some requests in advance, and not any number", async () => {
    await using host = await webHost();
    await using dns = await dnsHost(names);
    await using box = await field({ policy: { allow: [http("allowed.example", host.port)] }, dns: dns.address });
    const get = `GET http://allowed.example:${host.port}/ HTTP/1.1\r\nHost: x\r\n`;
    const some = await exchange(
      await box.tunnels.connect(at, 3128),
      `${`${get}\r\n`.repeat(7)}${get}Connection: close\r\n\r\n`,
    );
    expect(some.text.match(/200 OK/g)?.length).toBe(8);
    const many = await exchange(await box.tunnels.connect(at, 3128), `${get}\r\n`.repeat(500));
    expect(many.reset).toBe(true);
    expect(host.connections()).toBeLessThan(50);
  });

  it("passes answers without a body on as they are, and parts of a long one as they come", async () => {
    const more = Promise.withResolvers<void>();
    await using host = await webHost({
      answer: async (request, response) => {
        if (request.url === "/204") return void response.writeHead(204).end();
        if (request.url === "/304") return void response.writeHead(304, { etag: '"x"' }).end();
        if (request.method === "HEAD") return void response.writeHead(200, { "content-length": 12_345 }).end();
        response.writeHead(
          200,
          [
            ["Set-Cookie", "a=1"],
            ["Set-Cookie", "b=2"],
            ["Content-Type", "text/event-stream"],
          ].flat(),
        );
        response.write("data: 1\n\n");
        await more.promise;
        response.end("data: 2\n\n");
      },
    });
    await using dns = await dnsHost(names);
    await using box = await field({ policy: { allow: [http("allowed.example", host.port)] }, dns: dns.address });
    const line = (method: string, path: string) =>
      `${method} http://allowed.example:${host.port}${path} HTTP/1.1\r\nHost: x\r\n`;
    const short = ["GET /204", "GET /304", "HEAD /"].map((words) => line(...(words.split(" ") as [string, string])));
    const socket = await box.tunnels.connect(at, 3128);
    let text = "";
    for (const request of short) {
      socket.write(`${request}\r\n`);
      text += await head(socket);
    }
    expect(text).toMatch(
      /^HTTP\/1\.1 204[\s\S]*HTTP\/1\.1 304[\s\S]*etag: "x"[\s\S]*HTTP\/1\.1 200[\s\S]*content-length: 12345\r\n/,
    );
    expect(text).not.toMatch(/transfer-encoding/i);
    socket.write(`${line("GET", "/stream")}Connection: close\r\n\r\n`);
    let streamed = "";
    while (!streamed.includes("data: 1")) streamed += String((await once(socket, "data"))[0]);
    expect(streamed).toMatch(/Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n/);
    more.resolve();
    expect((await drain(socket)).text).toContain("data: 2");
  });

  it("carries a WebSocket once the server has agreed to it", async () => {
    await using host = await webHost({ answer: (_, response) => response.end("no") });
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    server.on("connection", (socket) => socket.on("message", (data) => socket.send(`got ${data}`)));
    await using dns = await dnsHost(names);
    const policy = { allow: [http("allowed.example", port), http("allowed.example", host.port)] };
    await using box = await field({ policy, dns: dns.address });
    const upgrade = (to: number) =>
      `GET http://allowed.example:${to}/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;
    const socket = await box.tunnels.connect(at, 3128);
    socket.write(upgrade(port));
    expect(await head(socket)).toMatch(/^HTTP\/1\.1 101 /);
    socket.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
    expect(String((await once(socket, "data"))[0])).toContain("got hi");
    socket.destroy();
    const declined = await box.tunnels.connect(at, 3128);
    const { text } = await exchange(declined, `${upgrade(host.port)}GET /2 HTTP/1.1\r\nHost: other.example\r\n\r\n`);
    expect(text).toMatch(/200 OK[\s\S]*no$/);
    expect(host.requests.map(({ url }) => url)).toEqual(["/"]);
    await new Promise((resolve) => server.close(resolve));
    for (const client of server.clients) client.terminate();
  });

  it("does not change to a protocol that it cannot read", async () => {
    await using host = await webHost();
    await using dns = await dnsHost(names);
    await using box = await field({ policy: { allow: [http("allowed.example", host.port)] }, dns: dns.address });
    const { text } = await exchange(
      await box.tunnels.connect(at, 3128),
      `GET http://allowed.example:${host.port}/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(host.requests[0]?.headers).not.toHaveProperty("upgrade");
  });

  it("says when a host that is allowed cannot be reached", async () => {
    await using dns = await dnsHost({ "allowed.example": "127.0.0.1" });
    let port = 0;
    {
      await using gone = await tcpHost();
      port = gone.port;
    }
    await using box = await field({
      policy: { allow: [http("allowed.example", port), http("nowhere.example")] },
      dns: dns.address,
    });
    const ask = async (to: string) =>
      (
        await exchange(
          await box.tunnels.connect(at, 3128),
          `GET http://${to}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
        )
      ).text;
    const refused = await ask(`allowed.example:${port}`);
    expect(refused).toMatch(/^HTTP\/1\.1 502 /);
    expect(problemOf(refused)).toMatchObject({ code: "unavailable", detail: "cannot connect: ECONNREFUSED" });
    expect(await ask("nowhere.example")).toMatch(/^HTTP\/1\.1 502 /);
    expect(box.attempts.map(({ verdict }) => verdict)).toEqual(["failed", "failed"]);
  });
});

describe("the SOCKS5 proxy of a sandbox", () => {
  const request = (name: string, port: number) =>
    Buffer.from([5, 1, 0, 3, name.length, ...Buffer.from(name), port >> 8, port & 255]);

  async function socks(box: Awaited<ReturnType<typeof field>>, name: string, port: number) {
    const socket = await box.tunnels.connect(at, 1080);
    socket.write(Buffer.from([5, 1, 0]));
    expect((await once(socket, "data"))[0]).toEqual(Buffer.from([5, 0]));
    socket.write(request(name, port));
    const [answer] = await once(socket, "data");
    return { socket, code: answer[1] };
  }

  it("[NET-04] reaches an allowed name, and refuses others with the number for policy", async () => {
    await using host = await tcpHost();
    await using dns = await dnsHost(names);
    await using box = await field({ policy: { allow: [tcp("allowed.example", host.port)] }, dns: dns.address });
    const good = await socks(box, "allowed.example", host.port);
    expect(good.code).toBe(0);
    good.socket.end("through");
    expect(await drain(good.socket)).toEqual({ text: "through", reset: false });
    expect((await socks(box, "other.example", host.port)).code).toBe(2);
    expect((await socks(box, "127.0.0.1", host.port)).code).toBe(2);
    expect(dns.asked.every((name) => name === "allowed.example")).toBe(true);
    expect(host.connections()).toBe(1);
  });
});

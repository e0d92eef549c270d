import { once } from "node:events";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { HeaderSecrets } from "../../packages/server/src/core/secret.ts";
import { exchange } from "./field.ts";
import { webHost } from "./hosts.ts";
import { ask, askHttp2, http2Host, inspected, inspectedField, soon } from "./inspected.ts";
import { http } from "./rules.ts";

const value = "sk-real-0123456789";
const placeholder = `caisson-secret-${"a1".repeat(20)}`;
const secrets: HeaderSecrets = {
  placeholders: () => [
    { placeholder, name: "API_KEY", header: "Authorization", hosts: ["allowed.example"], format: "Bearer {}" },
  ],
  reveal: async (_id, asked, host) =>
    asked === placeholder && host === "allowed.example" ? Buffer.from(value) : undefined,
};
const authorization = `Bearer ${placeholder}`;

describe("a secret that a sandbox has a placeholder of", () => {
  it("[NET-12] is in the request that its host gets, and in no field of the answer", async () => {
    await using host = await webHost({
      tls: true,
      answer: (request, response) =>
        void response
          .writeHead(200, `${request.headers.authorization}`, { "x-echo": request.headers.authorization })
          .end(),
    });
    await using box = await inspectedField({ port: host.port, secrets });
    const answer = await ask(await box.open("allowed.example"), "/", { headers: { authorization } });
    expect(host.requests[0]?.headers.authorization).toBe(`Bearer ${value}`);
    expect(answer).toMatchObject({ words: authorization, headers: { "x-echo": authorization } });
    expect(JSON.stringify(box.attempts)).not.toContain(value);
  });

  it("[NET-12] is in the stream that its host gets, and in no field or trailer of the answer", async () => {
    await using host = await http2Host((stream, headers) => {
      stream.respond({ ":status": 200, "x-echo": headers.authorization }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "x-late": headers.authorization }));
      stream.end("done");
    });
    await using box = await inspectedField({ port: host.port, secrets });
    const answer = await askHttp2(await box.http2("allowed.example"), { ":path": "/", authorization });
    expect(host.streams[0]?.authorization).toBe(`Bearer ${value}`);
    expect(answer.headers["x-echo"]).toBe(authorization);
    expect(answer.trailers["x-late"]).toBe(authorization);
  });

  it("[S86] reaches the sandbox in no compressed answer: an uncompressed one is asked for, another is refused", async () => {
    await using host = await webHost({
      tls: true,
      answer: ({ url, headers }, response) => {
        const field = url === "/transfer" ? "transfer-encoding" : "content-encoding";
        response.setHeader(field, url === "/transfer" ? "gzip, chunked" : "GZIP");
        response.end(gzipSync(`got ${headers.authorization}`));
      },
    });
    await using box = await inspectedField({ port: host.port, secrets });
    const program = await box.open("allowed.example");
    for (const path of ["/", "/transfer"]) {
      const headers = { authorization, "accept-encoding": "gzip, br" };
      const answer = await ask(path === "/" ? program : await box.open("allowed.example"), path, { headers });
      expect(answer).toMatchObject({ status: 403, body: expect.stringContaining("compressed its answer") });
    }
    expect(host.requests.map(({ headers }) => headers["accept-encoding"])).toEqual(["identity", "identity"]);
    const plain = { "accept-encoding": "gzip" };
    expect(await ask(program, "/", { headers: plain })).toMatchObject({
      status: 200,
      headers: { "content-encoding": "GZIP" },
    });
    expect(host.requests.at(-1)?.headers["accept-encoding"]).toBe("gzip");
    expect(await ask(program, "/", { method: "HEAD", headers: { authorization } })).toMatchObject({ status: 200 });
  });

  it("[S86] reaches the sandbox in no compressed stream", async () => {
    await using host = await http2Host((stream, headers) => {
      stream.respond({ ":status": 200, "content-encoding": "br" });
      stream.end(`${headers["accept-encoding"]} ${headers.authorization}`);
    });
    await using box = await inspectedField({ port: host.port, secrets });
    const session = await box.http2("allowed.example");
    const asked = { ":path": "/", "accept-encoding": "br", te: "trailers" };
    const answer = await askHttp2(session, { ...asked, authorization }, { body: "x" });
    expect(answer).toMatchObject({ status: 403, body: expect.stringContaining("compressed its answer") });
    expect(host.streams[0]).toMatchObject({ "accept-encoding": "identity", te: "trailers" });
    expect(await askHttp2(session, asked)).toMatchObject({ status: 200, body: "br undefined" });
    expect(host.connections()).toBe(1);
  });

  it.each([
    ["agreed to", 101, "Sec-WebSocket-Extensions: permessage-deflate"],
    ["answered otherwise", 400, "Content-Encoding: gzip\r\nContent-Length: 4"],
  ])("[S86] reaches the sandbox in no compressed WebSocket, %s", async (_, status, field) => {
    await using host = await webHost({ tls: true });
    const heads: string[] = [];
    host.server.on("upgrade", ({ headers }, socket) => {
      heads.push(`${headers["accept-encoding"]} ${headers["sec-websocket-extensions"]}`);
      const upgrade = status === 101 ? "Connection: Upgrade\r\nUpgrade: websocket\r\n" : "";
      socket.end(`HTTP/1.1 ${status} Words\r\n${upgrade}${field}\r\n\r\ndata`);
    });
    await using box = await inspectedField({ port: host.port, secrets });
    const program = await box.open("allowed.example");
    const fields = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Extensions: permessage-deflate"];
    const head = ["GET / HTTP/1.1", "Host: allowed.example", ...fields, `Authorization: ${authorization}`];
    let got = "";
    program.setEncoding("latin1").on("data", (chunk) => {
      got += chunk;
    });
    program.write(`${head.join("\r\n")}\r\n\r\n`);
    await once(program, "end");
    expect(got).toMatch(/^HTTP\/1\.1 403 [\s\S]*compressed its answer/);
    expect(heads).toEqual(["identity undefined"]);
  });

  it("does not let a request overtake one that waits for its value, both on one connection", async () => {
    const large = "x".repeat(4_000_000);
    await using host = await webHost({
      tls: true,
      answer: (request, response) => void response.end(request.url === "/1" ? "first." : `${large}.last`),
    });
    const slow: HeaderSecrets = {
      ...secrets,
      reveal: async (...asked) => {
        await new Promise((resolve) => setTimeout(resolve, 50));
        return secrets.reveal(...asked);
      },
    };
    await using box = await inspectedField({ port: host.port, secrets: slow });
    const program = await box.open("allowed.example");
    let got = "";
    program.setEncoding("latin1").on("data", (chunk) => {
      got += chunk;
    });
    const head = "HTTP/1.1\r\nHost: allowed.example\r\n";
    program.write(`GET /1 ${head}Authorization: ${authorization}\r\n\r\nGET /2 ${head}\r\n`);
    await soon(() => expect(got.endsWith(".last")).toBe(true));
    expect(got.indexOf("first.")).toBeLessThan(1_000);
  });

  it("[NET-12] refuses a request that takes its placeholder to a host it is not bound to", async () => {
    await using host = await webHost({ tls: true });
    const allow = [inspected(), inspected("other.example")];
    await using box = await inspectedField({ port: host.port, secrets, policy: { allow } });
    const program = await box.open("other.example");
    const headers = { host: "other.example", authorization };
    expect(await ask(program, "/", { headers })).toMatchObject({ status: 403 });
    expect(host.requests).toEqual([]);
    expect(box.attempts.at(-1)).toMatchObject({
      verdict: "denied",
      reason: "the secret API_KEY is not bound to other.example",
    });
    expect(await ask(await box.open("other.example"), "/", { headers: { host: "other.example" } })).toMatchObject({
      status: 200,
    });
  });

  it("[NET-12] refuses it on plain HTTP, to its own host too", async () => {
    await using host = await webHost();
    const allow = [http("allowed.example")];
    await using box = await inspectedField({ port: host.port, secrets, policy: { allow } });
    const socket = await box.tunnels.connect("127.64.0.1", 3128);
    const request = `GET http://allowed.example/ HTTP/1.1\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`;
    expect((await exchange(socket, request)).text).toMatch(/^HTTP\/1\.1 403 /);
    expect(host.requests).toEqual([]);
  });
});

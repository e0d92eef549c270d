import { describe, expect, it, vi } from "vitest";
import { gateLimits } from "../../packages/server/src/egress/gate-limits.ts";
import { exchange, field } from "./field.ts";
import { dnsHost, dnsQuestion, tcpHost, webHost } from "./hosts.ts";
import { http, names, tcp } from "./rules.ts";

const at = "127.64.0.1";

describe("a program that sends one request inside another", () => {
  it.each(["GET", "DELETE", "OPTIONS"])(
    "[NET-07] cannot have a body of %s read as a request by naming its length a field of the connection",
    async (method) => {
      let seen = "";
      await using host = await tcpHost((socket) =>
        socket.on("data", (chunk) => {
          seen += chunk.toString("latin1");
          if (seen.includes("other.example\r\n\r\n")) socket.end("HTTP/1.1 204 No Content\r\n\r\n");
        }),
      );
      await using dns = await dnsHost(names);
      await using box = await field({ policy: { allow: [http("allowed.example", host.port)] }, dns: dns.address });
      const inner = "GET /inner HTTP/1.1\r\nHost: other.example\r\n\r\n";
      const head = `Host: x\r\nConnection: close, content-length\r\nContent-Length: ${inner.length}`;
      const outer = `${method} http://allowed.example:${host.port}/x HTTP/1.1\r\n${head}\r\n\r\n${inner}`;
      expect((await exchange(await box.tunnels.connect(at, 3128), outer)).text).toMatch(/^HTTP\/1\.1 204 /);
      const [sent = "", body] = seen.split("\r\n\r\nGET");
      expect(body).toContain("/inner");
      expect(sent.toLowerCase()).toContain(`content-length: ${inner.length}`);
    },
  );
});

describe("a program that asks for a WebSocket", () => {
  it("[NET-07] announces no body that is not sent, for which a server would take what comes next", async () => {
    await using host = await webHost();
    await using dns = await dnsHost(names);
    await using box = await field({ policy: { allow: [http("allowed.example", host.port)] }, dns: dns.address });
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n\r\nabc";
    const request = `GET http://allowed.example:${host.port}/x HTTP/1.1\r\nHost: x\r\n${upgrade}`;
    const { text } = await exchange(await box.tunnels.connect(at, 3128), request);
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(host.requests[0]?.headers).not.toHaveProperty("content-length");
  });
});

describe("a log that is slower than a program's attempts", () => {
  it("holds up no more of them than a number, and what is refused stays so", async () => {
    const release = Promise.withResolvers<void>();
    let writing = 0;
    await using box = await field({
      written: () => {
        writing++;
        return release.promise;
      },
    });
    for (let i = 0; i < gateLimits.attempts + 400; i++) {
      const answer = await box.tunnels.send(at, 53, dnsQuestion(`n${i}.other.example`));
      expect(answer.readUInt16BE(2) & 15).toBe(3);
    }
    expect(writing).toBe(gateLimits.attempts);
    release.resolve();
    let tries = 0;
    await vi.waitFor(async () => {
      await box.tunnels.send(at, 53, dnsQuestion(`after${tries++}.other.example`));
      expect(box.attempts.some(({ reason }) => /\(and 4\d\d more before it/.test(reason ?? ""))).toBe(true);
    });
  });

  it("lets nothing be reached that cannot be written down, though connections of before have gone", async () => {
    await using host = await tcpHost((socket) => void socket.end());
    const release = Promise.withResolvers<void>();
    let writing = 0;
    await using box = await field({
      policy: { allow: [tcp("127.0.0.1", host.port)] },
      written: () => {
        writing++;
        return release.promise;
      },
    });
    for (let i = 0; i < gateLimits.attempts; i++) await box.tunnels.send(at, 53, dnsQuestion(`n${i}.other.example`));
    expect(writing).toBe(gateLimits.attempts);
    const late = await box.tunnels.connect(at, 3128);
    const { text } = await exchange(late, `CONNECT 127.0.0.1:${host.port} HTTP/1.1\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 429 /);
    expect(host.connections()).toBe(0);
    release.resolve();
    await vi.waitFor(async () => {
      const later = await box.tunnels.connect(at, 3128);
      expect((await exchange(later, `CONNECT 127.0.0.1:${host.port} HTTP/1.1\r\n\r\n`)).text).toContain(" 200 ");
    });
  });
});

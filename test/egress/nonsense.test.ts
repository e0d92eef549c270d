import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { seed, soak } from "../harness.ts";
import { drain, field } from "./field.ts";
import { dnsHost, tcpHost } from "./hosts.ts";
import { http, names, tcp, tls } from "./rules.ts";

const runs = { seed, numRuns: soak ? 5_000 : 150 };

/** What the doors look for, in any order, between bytes that they do not. */
const pieces = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom(
      ...[
        "GET ",
        "POST ",
        "CONNECT ",
        "http://allowed.example/",
        "http://other.example/",
        "/",
        " HTTP/1.1\r\n",
        "\r\n\r\n",
      ],
      ...[
        "Host: allowed.example\r\n",
        "Host: other.example\r\n",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
      ],
      ...[
        "Connection: Upgrade\r\nUpgrade: websocket\r\n",
        "Expect: 100-continue\r\n",
        "5\r\nhello\r\n",
        "0\r\n\r\n",
        "PRI * HTTP/2.0",
      ],
      ...[
        "\x05\x01\x00",
        "\x05\x01\x00\x03\x0dother.example\x01\xbb",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "\x00\x1d",
      ],
    )
    .map((text) => Buffer.from(text, "latin1")),
);
const nonsense = fc.array(pieces, { maxLength: 12 }).map((list) => Buffer.concat(list));

describe("a program that says anything", () => {
  it.each([
    ["the HTTP proxy", "127.64.0.1", 3128],
    ["the SOCKS5 proxy", "127.64.0.1", 1080],
    ["the resolver", "127.64.0.1", 53],
    ["a name that speaks HTTP", "name", 80],
    ["a name that speaks TLS", "name", 443],
  ])("to %s reaches nobody it may not, and breaks nothing", async (_, place, port) => {
    await using other = await tcpHost((socket) => void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"));
    await using dns = await dnsHost(names);
    const policy = { allow: [http("allowed.example"), tls("allowed.example")] };
    await using box = await field({ policy, dns: dns.address, ports: { 80: other.port, 443: other.port } });
    const address = place === "name" ? String(await box.lookup("allowed.example")) : place;
    await fc.assert(
      fc.asyncProperty(nonsense, async (bytes) => {
        const socket = await box.tunnels.connect(address, port);
        socket.end(bytes);
        await drain(socket);
      }),
      runs,
    );
    expect(box.errors).toEqual([]);
    expect(dns.asked.filter((name) => name !== "allowed.example")).toEqual([]);
    expect(box.attempts.filter(({ verdict, host }) => verdict === "allowed" && host !== "allowed.example")).toEqual([]);
    await vi.waitFor(() => expect(box.gate.open).toBe(0), { timeout: 20_000 });
  });

  it("to the resolver by datagrams is answered or not, and breaks nothing", async () => {
    await using box = await field({ policy: { allow: [tcp("allowed.example", 5_000)] } });
    for (const bytes of fc.sample(nonsense, runs)) box.tunnels.tell("127.64.0.1", 53, bytes);
    // Of too many at once some are lost, as on any network: whoever asks again is answered.
    const ask = () => Promise.race([box.lookup("allowed.example"), sleep(1_000)]);
    expect(await vi.waitUntil(ask, { timeout: 50_000 })).toMatch(/^127\.64\./);
    expect(box.errors).toEqual([]);
  });
});

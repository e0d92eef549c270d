import { once } from "node:events";
import { connect as connectTls } from "node:tls";
import { describe, expect, it, vi } from "vitest";
import { gateLimits } from "../../packages/server/src/egress/gate-limits.ts";
import { certificate } from "./certificate.ts";
import { drain, exchange, field } from "./field.ts";
import { dnsHost, dnsQuestion, tcpHost, webHost } from "./hosts.ts";
import { http, names, tcp, tls } from "./rules.ts";

describe("the resolver of a sandbox", () => {
  it("[NET-05] gives an allowed name an address of its own and asks nobody", async () => {
    await using dns = await dnsHost(names);
    await using box = await field({
      policy: { allow: [tls("allowed.example"), tls("*.allowed.example")] },
      dns: dns.address,
    });
    const [first, second] = [await box.lookup("allowed.example"), await box.lookup("www.allowed.example")];
    expect([first, second].every((address) => /^127\.64\./.test(String(address)))).toBe(true);
    expect(first).not.toBe(second);
    expect(await box.lookup("ALLOWED.example")).toBe(first);
    expect(dns.asked).toEqual([]);
  });

  it("[NET-05] has no address for any other name, whatever it carries", async () => {
    await using dns = await dnsHost(names);
    await using box = await field({ policy: { allow: [tls("allowed.example")] }, dns: dns.address });
    for (const name of ["other.example", "secret-a8f3.attacker.example", "sub.allowed.example", "com", "x"])
      expect(await box.lookup(name)).toBe(3);
    expect(dns.asked).toEqual([]);
    expect(box.attempts.map(({ host, port, verdict }) => ({ host, port, verdict }))).toContainEqual({
      host: "other.example",
      port: 0,
      verdict: "denied",
    });
  });

  it("answers other types of a name that is there with nothing, and localhost with itself (hazard 21)", async () => {
    await using box = await field({ policy: { allow: [tls("allowed.example")] } });
    expect([await box.lookup("allowed.example", 28), await box.lookup("allowed.example", 65)]).toEqual([0, 0]);
    expect(await box.lookup("localhost")).toBe("127.0.0.1");
    expect(await box.lookup("x.localhost")).toBe("127.0.0.1");
  });

  it("gives no more names than a sandbox may have, says so, and keeps those it gave (hazard 29)", async () => {
    await using box = await field({ policy: { allow: [tls("*.allowed.example")] } });
    const first = await box.lookup("n0.allowed.example");
    for (let i = 1; i < gateLimits.names; i++) await box.lookup(`n${i}.allowed.example`);
    expect(await box.lookup("one-more.allowed.example")).toBe(2);
    expect(await box.lookup("n0.allowed.example")).toBe(first);
    expect(box.attempts).toMatchObject([
      { host: "one-more.allowed.example", reason: "the sandbox has used up its names" },
    ]);
  });

  it("answers over TCP too", async () => {
    await using box = await field({ policy: { allow: [tls("allowed.example")] } });
    const socket = await box.tunnels.connect("127.64.0.1", 53);
    const question = dnsQuestion("allowed.example");
    socket.write(
      Buffer.concat([Buffer.from([0, question.length]), question, Buffer.from([0, question.length]), question]),
    );
    let got = Buffer.alloc(0);
    while (got.length < 2 * (2 + question.length + 16)) got = Buffer.concat([got, (await once(socket, "data"))[0]]);
    expect(got.subarray(-4).join(".")).toMatch(/^127\.64\./);
    socket.destroy();
  });
});

describe("a connection to a name's own address", () => {
  it("[NET-03] reaches an allowed host by TLS, and not one that its hello does not name", async () => {
    await using host = await webHost({ tls: true });
    await using dns = await dnsHost(names);
    const policy = { allow: [tls("allowed.example")] };
    await using box = await field({ policy, dns: dns.address, ports: { 443: host.port } });
    const address = String(await box.lookup("allowed.example"));
    const open = async (servername: string) =>
      connectTls({ socket: await box.tunnels.connect(address, 443), servername, ca: certificate });
    const good = await open("allowed.example");
    expect(await exchange(good, "GET /x HTTP/1.1\r\nHost: allowed.example\r\nConnection: close\r\n\r\n")).toMatchObject(
      {
        text: expect.stringContaining("GET /x 0"),
      },
    );
    const bad = await open("other.example");
    expect(await drain(bad)).toEqual({ text: "", reset: true });
    expect(host.requests.length).toBe(1);
    expect(host.connections()).toBe(1);
    expect(box.attempts.at(-1)).toMatchObject({ verdict: "denied", reason: "its ClientHello names other.example" });
    expect(box.attempts[0]).toMatchObject({
      verdict: "allowed",
      rule: "allowed.example",
      address: "127.0.0.1",
      host: "allowed.example",
    });
  });

  it("[NET-03] reaches an allowed port of any protocol, and is reset on another", async () => {
    await using host = await tcpHost();
    await using dns = await dnsHost(names);
    await using box = await field({ policy: { allow: [tcp("allowed.example", host.port)] }, dns: dns.address });
    const address = String(await box.lookup("allowed.example"));
    const socket = await box.tunnels.connect(address, host.port);
    socket.write("hello");
    expect(String((await once(socket, "data"))[0])).toBe("hello");
    socket.end();
    await once(socket, "end");
    const wrong = await box.tunnels.connect(address, 443);
    expect(await exchange(wrong, "x")).toEqual({ text: "", reset: true });
    await expect(box.tunnels.connect("127.64.200.1", host.port)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    const reached = box.attempts.find(({ port }) => port === host.port);
    await vi.waitFor(() => expect(reached?.end).toMatchObject({ bytesUp: 5, bytesDown: 5, reason: null }), {
      timeout: 20_000,
    });
  });

  it("ends each direction by itself", async () => {
    await using host = await tcpHost((socket) => {
      let got = "";
      socket.on("data", (chunk) => {
        got += chunk;
      });
      socket.on("end", () => socket.end(`after the end: ${got}`));
    });
    await using dns = await dnsHost(names);
    await using box = await field({ policy: { allow: [tcp("allowed.example", host.port)] }, dns: dns.address });
    const socket = await box.tunnels.connect(String(await box.lookup("allowed.example")), host.port);
    socket.end("question");
    expect(await drain(socket)).toEqual({ text: "after the end: question", reset: false });
  });

  it("is left to a program that has the port already; the name is reached through the proxy then (hazard 22)", async () => {
    await using host = await tcpHost();
    await using dns = await dnsHost(names);
    await using box = await field({ policy: { allow: [tcp("allowed.example", host.port)] }, dns: dns.address });
    await box.tunnels.listen("127.64.0.16", host.port, (tunnel) => void tunnel.end("the program's own"));
    const address = String(await box.lookup("allowed.example"));
    expect(address).toBe("127.64.0.16");
    expect((await drain(await box.tunnels.connect(address, host.port))).text).toBe("the program's own");
    const socket = await box.tunnels.connect("127.64.0.1", 3128);
    socket.write(`CONNECT allowed.example:${host.port} HTTP/1.1\r\n\r\n`);
    await once(socket, "data");
    socket.end("by the proxy");
    expect((await drain(socket)).text).toBe("by the proxy");
    expect(box.errors).toEqual([]);
  });

  it("that no name has is reset", async () => {
    await using box = await field({});
    expect(await exchange(await box.tunnels.connect("127.0.0.1", 80), "GET / HTTP/1.1\r\n\r\n")).toEqual({
      text: "",
      reset: true,
    });
  });

  it("[NET-07] carries HTTP whose every request names the host", async () => {
    await using host = await webHost();
    await using dns = await dnsHost(names);
    await using box = await field({
      policy: { allow: [http("allowed.example")] },
      dns: dns.address,
      ports: { 80: host.port },
    });
    const address = String(await box.lookup("allowed.example"));
    const get = (name: string, path: string, more = "") => `GET ${path} HTTP/1.1\r\nHost: ${name}\r\n${more}\r\n`;
    const both = await exchange(
      await box.tunnels.connect(address, 80),
      get("allowed.example", "/1") + get("allowed.example:80", "/2", "Connection: close\r\n"),
    );
    expect(both.text).toMatch(/200 OK[\s\S]*GET \/1 0[\s\S]*200 OK[\s\S]*GET \/2 0/);
    const fronted = await exchange(
      await box.tunnels.connect(address, 80),
      get("allowed.example", "/3") + get("other.example", "/4", "Connection: close\r\n"),
    );
    expect(fronted.text).toMatch(/GET \/3 0[\s\S]*400 Bad Request[\s\S]*the connection is to allowed\.example/);
    expect(host.requests.map(({ url }) => url)).toEqual(["/1", "/2", "/3"]);
  });
});

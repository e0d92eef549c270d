import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { drain, exchange, field } from "./field.ts";
import { dnsHost, tcpHost, webHost } from "./hosts.ts";
import { http, names, tcp, tls } from "./rules.ts";

const endless = () =>
  tcpHost((socket) => {
    const more = () => {
      while (socket.write(Buffer.alloc(16_384)));
    };
    socket.on("drain", more);
    more();
  });

describe("a change of policy", () => {
  it("[NET-10] cuts an open download that it no longer allows, with the reason in the log", async () => {
    await using host = await endless();
    await using dns = await dnsHost(names);
    const allow = [tcp("allowed.example", host.port)];
    await using box = await field({ policy: { allow }, dns: dns.address });
    const socket = await box.tunnels.connect(String(await box.lookup("allowed.example")), host.port);
    await once(socket, "data");
    box.setPolicy({ allow, deny: [{ host: "unrelated.example" }] });
    await once(socket, "data");
    expect(box.gate.open).toBe(1);
    box.setPolicy({});
    await vi.waitFor(() => expect(socket.destroyed).toBe(true), { timeout: 20_000, interval: 5 });
    expect(box.attempts[0]?.end?.reason).toBe("the policy changed: no rule allows allowed.example");
    expect(box.attempts[0]?.end?.bytesDown).toBeGreaterThan(0);
  });

  it("[NET-10] cuts what a denied network holds, whatever its name", async () => {
    await using host = await endless();
    await using dns = await dnsHost(names);
    const allow = [tcp("allowed.example", host.port)];
    await using box = await field({ policy: { allow }, dns: dns.address });
    const socket = await box.tunnels.connect(String(await box.lookup("allowed.example")), host.port);
    await once(socket, "data");
    box.setPolicy({ allow, deny: [{ host: "127.0.0.0/8" }] });
    await vi.waitFor(() => expect(socket.destroyed).toBe(true), { timeout: 20_000, interval: 5 });
  });

  it("[NET-10] lets in at once what it allows now, at names that are known already", async () => {
    await using host = await tcpHost();
    await using dns = await dnsHost(names);
    await using box = await field({ policy: { allow: [tls("allowed.example")] }, dns: dns.address });
    const address = String(await box.lookup("allowed.example"));
    expect(box.tunnels.places).not.toContain(`${address}:${host.port}`);
    box.setPolicy({ allow: [tls("allowed.example"), tcp("allowed.example", host.port), tcp("*.allowed.example", 22)] });
    await vi.waitFor(() => expect(box.tunnels.places).toContain(`${address}:${host.port}`), { timeout: 20_000 });
    expect(box.tunnels.places).toContain("0.0.0.0:22");
    const socket = await box.tunnels.connect(address, host.port);
    socket.end("new");
    expect((await drain(socket)).text).toBe("new");
    box.setPolicy({ allow: [tls("allowed.example")] });
    await vi.waitFor(() => expect(box.tunnels.places).not.toContain(`${address}:${host.port}`), { timeout: 20_000 });
  });

  it("[NET-15] slows all connections of a sandbox down to its rate together", async () => {
    await using host = await endless();
    await using dns = await dnsHost(names);
    const policy = { allow: [tcp("allowed.example", host.port)], bytesPerSecond: 200_000 };
    await using box = await field({ policy, dns: dns.address });
    const address = String(await box.lookup("allowed.example"));
    let got = 0;
    const begun = performance.now();
    const sockets = await Promise.all([1, 2].map(() => box.tunnels.connect(address, host.port)));
    for (const socket of sockets)
      socket.on("data", (chunk) => {
        got += chunk.length;
      });
    await vi.waitFor(() => expect(got).toBeGreaterThan(300_000), { timeout: 30_000, interval: 10 });
    // A lower bound of time: a slow machine only makes it longer. Each may have one read in advance.
    expect(performance.now() - begun).toBeGreaterThan(((got - 4 * 65_536) / 200_000) * 1_000 - 100);
  });
});

describe("where an allowed name leads", () => {
  const ask = "GET http://allowed.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

  it.each(["127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "192.168.0.1", "224.0.0.1", "0.0.0.0"])(
    "[NET-06] is not %s unless a rule names that network",
    async (address) => {
      await using host = await webHost();
      await using dns = await dnsHost({ "allowed.example": address });
      const policy = { allow: [{ host: "allowed.example", port: 80, protocol: "http" as const }] };
      await using box = await field({ policy, dns: dns.address, ports: { 80: host.port } });
      expect((await exchange(await box.tunnels.connect("127.64.0.1", 3128), ask)).text).toMatch(/^HTTP\/1\.1 403 /);
      expect(host.connections()).toBe(0);
      expect(box.attempts).toMatchObject([{ verdict: "denied", address }]);
    },
  );

  it("[NET-06] is judged at each connection, by the address that is then dialled", async () => {
    await using host = await webHost();
    const table: Record<string, string> = { "allowed.example": "127.0.0.1" };
    await using dns = await dnsHost(table);
    await using box = await field({
      policy: { allow: [http("allowed.example")] },
      dns: dns.address,
      ports: { 80: host.port },
    });
    expect((await exchange(await box.tunnels.connect("127.64.0.1", 3128), ask)).text).toMatch(/^HTTP\/1\.1 200 /);
    table["allowed.example"] = "169.254.169.254";
    expect((await exchange(await box.tunnels.connect("127.64.0.1", 3128), ask)).text).toMatch(/^HTTP\/1\.1 403 /);
    expect(host.connections()).toBe(1);
  });

  it("[NET-08] a request must fit its rule's methods and paths, where HTTP is read", async () => {
    await using host = await webHost();
    await using dns = await dnsHost(names);
    const rule = { ...http("allowed.example"), methods: ["GET"], paths: ["/v1/*", "/health"] };
    await using box = await field({ policy: { allow: [rule] }, dns: dns.address, ports: { 80: host.port } });
    const send = async (line: string) => {
      const request = `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
      return (await exchange(await box.tunnels.connect("127.64.0.1", 3128), request)).text.slice(9, 12);
    };
    const url = "http://allowed.example";
    expect(await send(`GET ${url}/v1/x?y=1`)).toBe("200");
    expect(await send(`GET ${url}/health`)).toBe("200");
    for (const line of [
      `POST ${url}/v1/x`,
      `GET ${url}/v2`,
      `GET ${url}/v1/../v2`,
      `GET ${url}/v1/%2e%2e/v2`,
      `GET ${url}/health/x`,
    ])
      expect(await send(line)).toBe("403");
    expect(host.requests.map(({ url: path }) => path)).toEqual(["/v1/x?y=1", "/health"]);
  });
});

import { text } from "node:stream/consumers";
import { describe, expect, it, vi } from "vitest";
import { errands } from "./errands.ts";
import { dnsHost, tcpHost, webHost } from "./hosts.ts";
import { soon } from "./inspected.ts";
import { http, tls } from "./rules.ts";

describe("what is fetched on behalf of a sandbox", () => {
  it("reaches an allowed host, and is written down with its bytes", async () => {
    await using host = await webHost();
    await using box = await errands({ policy: { allow: [http("allowed.example", host.port)] } });
    const answer = await box.get(`http://allowed.example:${host.port}/a?b=c`);
    expect(answer.status).toBe(200);
    expect(await text(answer.body)).toBe("GET /a?b=c 0");
    expect(host.requests[0]?.headers).toMatchObject({ host: `allowed.example:${host.port}`, "x-from": "test" });
    expect(box.attempts[0]).toMatchObject({ verdict: "allowed", host: "allowed.example", address: "127.0.0.1" });
    await soon(() => expect(box.attempts[0]?.end).toMatchObject({ bytesUp: expect.any(Number), reason: null }));
    expect(box.attempts[0]?.end?.bytesDown).toBeGreaterThan(12);
    expect(box.gate.open).toBe(0);
  });

  it("cannot reach a host that no rule names: nothing is looked up or dialled, and the refusal says how to ask", async () => {
    await using host = await webHost();
    await using box = await errands({ policy: { allow: [http("allowed.example", host.port)] } });
    const refused = await box.get(`http://other.example:${host.port}/`).catch((error) => error);
    expect(refused).toMatchObject({
      code: "forbidden",
      hint: expect.stringContaining("request_egress"),
      details: { refused: "egress", what: `other.example:${host.port}`, rule: null },
    });
    expect(host.connections()).toBe(0);
    expect(box.dns.asked).toEqual([]);
    expect(box.attempts).toMatchObject([{ verdict: "denied", host: "other.example" }]);
  });

  it("cannot reach a private address by an allowed name whose rule names no network", async () => {
    await using host = await webHost();
    const { ranges: _, ...rule } = http("allowed.example", host.port);
    await using box = await errands({ policy: { allow: [rule] } });
    await expect(box.get(`http://allowed.example:${host.port}/`)).rejects.toMatchObject({
      code: "forbidden",
      message: expect.stringContaining("not a public address"),
    });
    expect(host.connections()).toBe(0);
  });

  it("speaks TLS with a host that proves its name, and not with another", async () => {
    await using host = await webHost({ tls: true });
    const allow = [tls("allowed.example"), tls("stranger.example")];
    await using box = await errands({ policy: { allow }, ports: { 443: host.port } });
    expect(await text((await box.get("https://allowed.example/x")).body)).toBe("GET /x 0");
    await using dns = await dnsHost({ "stranger.example": "127.0.0.1" });
    await using other = await errands({ policy: { allow }, ports: { 443: host.port }, dns: dns.address });
    await expect(other.get("https://stranger.example/x")).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("TLS with stranger.example failed"),
    });
    expect(host.requests.length).toBe(1);
  });

  it("obeys what a rule says of methods and paths, with TLS looked into", async () => {
    await using host = await webHost({ tls: true });
    const rule = { ...tls("allowed.example"), inspect: true, methods: ["GET"], paths: ["/open/*"] };
    await using box = await errands({ policy: { allow: [rule] }, ports: { 443: host.port } });
    expect(await text((await box.get("https://allowed.example/open/1?q=2")).body)).toBe("GET /open/1?q=2 0");
    await expect(box.get("https://allowed.example/closed")).rejects.toMatchObject({
      code: "forbidden",
      message: expect.stringContaining("no rule lets GET /closed out"),
    });
    expect(host.requests.length).toBe(1);
  });

  it("does not speak plain HTTP where the rule is for TLS", async () => {
    await using host = await webHost();
    await using box = await errands({ policy: { allow: [tls("allowed.example", host.port)] } });
    await expect(box.get(`http://allowed.example:${host.port}/`)).rejects.toMatchObject({ code: "forbidden" });
    expect(host.connections()).toBe(0);
  });

  it("is cut when the policy takes it back", async () => {
    await using host = await webHost({ answer: (_request, response) => void response.write("begun") });
    await using box = await errands({ policy: { allow: [http("allowed.example", host.port)] } });
    const { body } = await box.get(`http://allowed.example:${host.port}/`);
    const read = text(body);
    box.setPolicy({ allow: [] });
    await expect(read).rejects.toThrow();
    await soon(() => expect(box.attempts[0]?.end?.reason).toContain("the policy changed"));
  });

  it("ends when it is given up, before and within the answer", async () => {
    await using silent = await tcpHost(() => undefined);
    await using box = await errands({ policy: { allow: [http("allowed.example", silent.port)] } });
    const stop = new AbortController();
    const fetched = box.get(`http://allowed.example:${silent.port}/`, stop.signal);
    await vi.waitFor(() => expect(silent.connections()).toBe(1), { timeout: 30_000 });
    stop.abort();
    await expect(fetched).rejects.toMatchObject({ code: "timeout" });
    await soon(() => expect(box.gate.open).toBe(0));
    await expect(box.get(`http://allowed.example:${silent.port}/`, stop.signal)).rejects.toMatchObject({
      code: "timeout",
    });
  });

  it("says that a host answered nonsense, and is no URL with a password or of another kind", async () => {
    await using host = await tcpHost((socket) => void socket.end("nonsense\r\n\r\n"));
    await using box = await errands({ policy: { allow: [http("allowed.example", host.port)] } });
    await expect(box.get(`http://allowed.example:${host.port}/`)).rejects.toMatchObject({ code: "unavailable" });
    await expect(box.get(`http://a:b@allowed.example:${host.port}/`)).rejects.toMatchObject({ code: "invalid" });
    await expect(box.get("file:///etc/passwd")).rejects.toMatchObject({ code: "invalid" });
    expect(host.connections()).toBe(1);
  });
});

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { dnsHost, type TestDns, type WebHost, webHost } from "../egress/hosts.ts";
import { http, names } from "../egress/rules.ts";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

/** Says what came back, or which refusal. */
const fetcher = (url: string) => `
import urllib.request, urllib.error
try:
    print(urllib.request.urlopen("${url}", timeout=30).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
`;

describe.each(engines)("policies of a daemon, as programs on %s meet them", (engine) => {
  let server: TestServer;
  let dns: TestDns;
  let web: WebHost;
  let operator: Api;
  beforeAll(async () => {
    dns = await dnsHost(names);
    web = await webHost();
    server = await openTestServer(engine, { network: { dnsServers: [dns.address] } });
    operator = await server.as("operator");
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    for (const host of [dns, web]) await host?.[Symbol.asyncDispose]();
  });

  const get = async (api: Api, id: string, host: string, more: object = {}) => {
    const code = fetcher(`http://${host}:${web.port}/`);
    const { json } = await api.post(`/api/v1/sandboxes/${id}/execute_code`, { language: "python", code, ...more });
    return String(json.stdout ?? JSON.stringify(json)).trim();
  };
  const patch = (path: string, json: object) => operator.send("PATCH", path, { json });
  const toWire = ({ host, port, protocol, ranges }: ReturnType<typeof http>) => ({
    host,
    port,
    protocol,
    ranges: [...(ranges ?? [])],
  });

  it("[NET-01] [NET-10] let nothing out, then a domain that an operator approves, then nothing again", async () => {
    const id = await operator.create();
    expect(await get(operator, id, "allowed.example")).toMatch(/^403 .*"code":"forbidden"/);
    await patch("/api/v1/egress/policy", { add: { allow: [toWire(http("allowed.example", web.port))] } });
    expect(await get(operator, id, "allowed.example")).toBe("GET / 0");
    expect(await get(operator, id, "other.example")).toMatch(/^403/);
    await patch("/api/v1/egress/policy", { remove: { allow: [`allowed.example:${web.port}/http`] } });
    expect(await get(operator, id, "allowed.example")).toMatch(/^403/);
    expect(dns.asked).not.toContain("other.example");
  });

  it("[NET-11] write down each attempt with its rule and its bytes", async () => {
    const id = await operator.create({ network: { allow: [toWire(http("allowed.example", web.port))] } });
    await get(operator, id, "allowed.example");
    await get(operator, id, "other.example");
    const log = async () => (await operator.get(`/api/v1/egress/log?sandbox_id=${id}`)).json;
    await vi.waitFor(
      async () => expect((await log()).at(-1)).toMatchObject({ duration_ms: expect.any(Number) }),
      20_000,
    );
    const [denied, allowed] = await log();
    expect(denied).toMatchObject({
      host: "other.example",
      port: web.port,
      verdict: "denied",
      rule: null,
      address: null,
    });
    expect(allowed).toMatchObject({
      ...{ host: "allowed.example", address: "127.0.0.1", verdict: "allowed", layer: "sandbox" },
      rule: `allowed.example:${web.port}/http`,
    });
    expect(allowed.bytes_up).toBeGreaterThan(20);
    expect(allowed.bytes_down).toBeGreaterThan(20);
    const types = (await operator.get(`/api/v1/audit?sandbox_id=${id}&text=egress.`)).json.map(
      ({ type }: { type: string }) => type,
    );
    expect(types).toEqual(["egress.denied", "egress.allowed"]);
  });

  it("[EXE-01] let a run reach its allowed_domains, and the next run not", async () => {
    const agent = await server.as("agent");
    const id = await agent.create();
    const permit = toWire(http("allowed.example", web.port));
    const domains = { allowed_domains: [`allowed.example:${web.port}/http`] };
    expect(await get(agent, id, "allowed.example", domains)).toContain("forbidden");
    await patch("/api/v1/egress/policy", { add: { agents_may_allow: [permit] } });
    expect(await get(agent, id, "allowed.example", domains)).toBe("GET / 0");
    expect(await get(agent, id, "allowed.example")).toMatch(/^403/);
  });
});

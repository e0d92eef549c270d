import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { EgressAttempt } from "../../packages/server/src/core/egress.ts";
import { ActivePolicies } from "../../packages/server/src/egress/active-policies.ts";
import { NetworkPolicies } from "../../packages/server/src/egress/network-policies.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const policyPath = "/api/v1/egress/policy";

function attempt(id: string, sandboxId: string, more: Partial<EgressAttempt> = {}): EgressAttempt {
  return {
    ...{ id, sandboxId, host: "api.example.com", port: 443, address: "192.0.2.1", verdict: "allowed" as const },
    ...{ rule: "api.example.com", layer: "sandbox" as const, reason: null, approvalId: null, bytesUp: 0, bytesDown: 0 },
    ...{ startedAtMs: 1_700_000_000_000, durationMs: null },
    ...more,
  };
}

describe("egress over REST", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer("container");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const patch = (api: Api, path: string, json: unknown) => api.send("PATCH", path, { json });
  const put = (api: Api, path: string, json: unknown) => api.send("PUT", path, { json });
  const explain = async (api: Api, host: string, sandbox?: string, port = 443) => {
    const query = new URLSearchParams({ host, port: String(port), ...(sandbox && { sandbox_id: sandbox }) });
    const { status, json } = await api.get(`/api/v1/egress/explain?${query}`);
    expect(status).toBe(200);
    return json;
  };

  it("[NET-02] keeps a namespace's policy in one form, and another namespace has its own", async () => {
    const api = await server.as("operator", "forms");
    const asked = {
      allow: ["API.example.com.", "bücher.example:80", { host: "*.example.org", inspect: true, methods: ["get"] }],
      deny: ["evil.example.org", { host: "203.0.113.0/24" }],
      agents_may_allow: ["*.example.net"],
      unknown: "ask",
      bytes_per_second: 100_000,
    };
    const { status, json } = await put(api, policyPath, asked);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      allow: [
        { rule: "api.example.com", host: "api.example.com", port: 443, protocol: "tls" },
        { rule: "xn--bcher-kva.example:80", protocol: "http" },
        { rule: "*.example.org", inspect: true, methods: ["GET"] },
      ],
      deny: [{ rule: "evil.example.org" }, { rule: "203.0.113.0/24", port: null }],
      agents_may_allow: [{ rule: "*.example.net" }],
      unknown: "ask",
      bytes_per_second: 100_000,
    });
    expect((await (await server.as("viewer", "forms")).get(policyPath)).json).toEqual(json);
    const other = await (await server.as("viewer", "others")).get(policyPath);
    expect(other.json).toEqual({ allow: [], deny: [], agents_may_allow: [], unknown: null, bytes_per_second: null });
  });

  it.each(["*", "*.com", "*.co.uk", "*.vercel.app", "https://a.example", "localhost"])(
    "[NET-02] refuses %s with the reason, and leaves the policy as it was",
    async (rule) => {
      const api = await server.as("operator", "refusals");
      const { status, json } = await patch(api, policyPath, { add: { allow: [rule] } });
      expect([status, json.code]).toEqual([400, "invalid"]);
      expect(json.detail.length).toBeGreaterThan(10);
      expect((await api.get(policyPath)).json.allow).toEqual([]);
    },
  );

  it("adds rules and takes rules away, and says when there is none to take", async () => {
    const api = await server.as("operator", "changes");
    await patch(api, policyPath, { add: { allow: ["a.example.com", "b.example.com"], deny: ["*.c.example.com"] } });
    const { json } = await patch(api, policyPath, { remove: { allow: ["A.example.com:443/tls"] }, unknown: "ask" });
    expect(json).toMatchObject({
      allow: [{ rule: "b.example.com" }],
      deny: [{ rule: "*.c.example.com" }],
      unknown: "ask",
    });
    const none = await patch(api, policyPath, { remove: { allow: ["a.example.com"] } });
    expect([none.status, none.json.detail]).toEqual([404, expect.stringContaining("unknown rule a.example.com")]);
    expect((await patch(api, policyPath, { unknown: null })).json.unknown).toBeNull();
    const { json: rows } = await api.get("/api/v1/audit?type=egress.changed");
    expect(rows[2].detail).toMatchObject({ allow_added: ["a.example.com", "b.example.com"], deny: 1 });
    expect(rows[1].detail).toMatchObject({ allow_removed: ["a.example.com"], unknown: "ask" });
  });

  it("explains a verdict by its rule and its layer, and shows what holds for a sandbox", async () => {
    const api = await server.as("operator", "explained");
    await put(api, policyPath, { allow: ["api.example.com", "*.cdn.example.com"], deny: ["bad.cdn.example.com"] });
    const id = await api.create({ network: { allow: ["own.example.com:8443/tls"], deny: ["api.example.com:80"] } });
    expect(await explain(api, "API.example.com", id)).toMatchObject({
      ...{ host: "api.example.com", action: "allow", layer: "namespace", rule: "api.example.com" },
      rules: [
        { layer: "namespace", effect: "allow", applies: true },
        { layer: "sandbox", effect: "deny", rule: "api.example.com:80", applies: false },
      ],
    });
    expect(await explain(api, "own.example.com", id, 8443)).toMatchObject({ action: "allow", layer: "sandbox" });
    expect(await explain(api, "own.example.com", undefined, 8443)).toMatchObject({ action: "deny", rules: [] });
    expect(await explain(api, "bad.cdn.example.com", id)).toMatchObject({
      ...{ action: "deny", layer: "namespace", rule: "bad.cdn.example.com" },
      rules: [{ effect: "deny" }, { effect: "allow", rule: "*.cdn.example.com" }],
    });
    expect(await explain(api, "2130706433", id)).toMatchObject({ host: "127.0.0.1", action: "deny", rule: null });
    const { json } = await api.get(`/api/v1/sandboxes/${id}/egress`);
    expect(json.policy.allow).toMatchObject([{ rule: "own.example.com:8443/tls" }]);
    const layers = json.effective.map(({ layer }: { layer: string }) => layer);
    expect(layers).toEqual(["configuration", "namespace", "sandbox", "approval"]);
    const foreign = await server.as("operator", "strangers");
    for (const path of [`/api/v1/sandboxes/${id}/egress`, `/api/v1/egress/explain?host=a.example&sandbox_id=${id}`])
      expect((await foreign.get(path)).status).toBe(404);
  });

  it("[NET-02] lets a sandbox have 10 rules of its own, and no more", async () => {
    const api = await server.as("operator", "limits");
    const rules = (count: number) => Array.from({ length: count }, (_, at) => `n${at}.example.com`);
    const id = await api.create({ network: { allow: rules(10) } });
    const more = await patch(api, `/api/v1/sandboxes/${id}/egress`, { add: { allow: ["last.example.com"] } });
    expect([more.status, more.json.code]).toEqual([400, "invalid"]);
    const refused = await api.post("/api/v1/sandboxes", { network: { allow: rules(11) } });
    expect(refused.json).toMatchObject({ code: "invalid", detail: expect.stringContaining("limit: 10") });
    expect((await put(api, `/api/v1/sandboxes/${id}/egress`, { allow: ["only.example.com"] })).status).toBe(200);
    expect(await explain(api, "n0.example.com", id)).toMatchObject({ action: "deny" });
  });

  it("lets an agent open what its namespace leaves to agents, on the conditions that stand there, and nothing else", async () => {
    const operator = await server.as("operator", "agents");
    const agent = await server.as("agent", "agents");
    const permit = { host: "*.example.com", inspect: true, methods: ["GET"] };
    await put(operator, policyPath, { agents_may_allow: [permit, "plain.example.org"] });
    const id = await agent.create({
      network: { allow: ["api.example.com", "plain.example.org"], deny: ["x.example.com"] },
    });
    const { json } = await agent.get(`/api/v1/sandboxes/${id}/egress`);
    expect(json.policy.allow).toMatchObject([
      { rule: "api.example.com", inspect: true, methods: ["GET"] },
      { rule: "plain.example.org" },
    ]);
    for (const network of [
      { allow: ["other.example.org"] },
      { allow: ["api.example.com:80"] },
      { allow: ["*.example.org"] },
      { allow: [{ host: "plain.example.org", ranges: ["10.0.0.0/8"] }] },
      { allow: [{ host: "api.example.com", inspect: true, methods: ["POST"] }] },
      { unknown: "ask" },
    ]) {
      const refused = await agent.post("/api/v1/sandboxes", { network });
      expect([refused.status, refused.json.code], JSON.stringify(network)).toEqual([403, "forbidden"]);
    }
    const refused = await agent.post(`/api/v1/sandboxes/${id}/exec`, {
      command: "true",
      allowed_domains: ["b.example.org"],
    });
    expect(refused.json).toMatchObject({ code: "forbidden", hint: expect.stringContaining("request_egress") });
    const run = { command: "true", allowed_domains: ["b.example.com"] };
    expect((await agent.post(`/api/v1/sandboxes/${id}/exec`, run)).json.exit_code).toBe(0);
    for (const path of [policyPath, `/api/v1/sandboxes/${id}/egress`])
      expect((await put(agent, path, { allow: [] })).status).toBe(403);
    await put(operator, policyPath, { agents_may_allow: ["plain.example.org"] });
    expect(await explain(agent, "api.example.com", id)).toMatchObject({ action: "deny" });
    expect(await explain(agent, "plain.example.org", id)).toMatchObject({ action: "allow" });
  });

  it("[EXE-01] opens the allowed_domains of a run for as long as it goes on", async () => {
    const api = await server.as("operator", "runs");
    const id = await api.create();
    const command = "until [ -e go ]; do sleep 0.02; done";
    const running = api.post(`/api/v1/sandboxes/${id}/exec`, { command, allowed_domains: ["run.example.com"] });
    await vi.waitFor(async () => {
      expect(await explain(api, "run.example.com", id)).toMatchObject({ action: "allow", layer: "run" });
    }, 20_000);
    await api.put(`/api/v1/sandboxes/${id}/files/go`, "");
    expect((await running).json.exit_code).toBe(0);
    expect(await explain(api, "run.example.com", id)).toMatchObject({ action: "deny" });
    const refused = await api.post(`/api/v1/sandboxes/${id}/exec`, { command: "true", allowed_domains: ["*.com"] });
    expect([refused.status, refused.json.code]).toEqual([400, "invalid"]);
  });

  it("[NET-10] tells whoever watches a sandbox of each change at once, and forgets a destroyed one", async () => {
    const api = await server.as("operator", "watched");
    const id = await api.create({ network: { allow: ["a.example.com"] } });
    const policies = await server.caisson.policies();
    let changes = 0;
    const stop = policies.watch(id, () => changes++);
    await patch(api, policyPath, { add: { deny: ["a.example.com"] } });
    await patch(api, `/api/v1/sandboxes/${id}/egress`, { add: { allow: ["b.example.com"] } });
    expect(changes).toBe(2);
    await api.delete(`/api/v1/sandboxes/${id}`);
    expect(changes).toBe(3);
    expect(policies.policyOf(id)).toEqual([]);
    stop();
    const kept = async () => (await server.store.policies.sandboxes()).map(({ sandboxId }) => sandboxId);
    await vi.waitFor(async () => expect(await kept()).not.toContain(id), 20_000);
  });

  it("has the same policies after a restart", async () => {
    const api = await server.as("operator", "restarted");
    await put(api, policyPath, { allow: ["*.example.com"], unknown: "ask" });
    const id = await api.create({ network: { deny: ["no.example.com"] } });
    const before = (await server.caisson.policies()).policyOf(id);
    const policies = new ActivePolicies();
    const { store, journal } = server;
    const parts = { policies, records: store.policies, journal, sandboxRules: 10 };
    const onError = (error: unknown) => expect.unreachable(String(error));
    const network = await NetworkPolicies.open({ ...parts, onError });
    expect(policies.policyOf(id)).toEqual([]);
    network.entered(id, "restarted", null);
    expect(policies.policyOf(id)).toEqual(before);
  });

  it("[NET-09] makes an answer for always a rule of the namespace, and one for the sandbox a rule of that", async () => {
    const operator = await server.as("operator", "answers");
    const agent = await server.as("agent", "answers");
    const id = await agent.create();
    const ask = async (host: string, scope: string, approve = true, expected = 200) => {
      const { json } = await agent.post("/api/v1/approvals", { kind: "egress", host, port: 443, sandbox_id: id });
      const { status } = await operator.post(`/api/v1/approvals/${json.id}/decide`, { approve, scope });
      expect(status).toBe(expected);
    };
    await ask("always.example.com", "always");
    await ask("box.example.com", "sandbox");
    await ask("never.example.com", "always", false);
    // Nobody would ask again: unknown names are denied there.
    await ask("once.example.com", "once", true, 409);
    expect(await explain(operator, "always.example.com")).toMatchObject({ action: "allow", layer: "namespace" });
    expect(await explain(operator, "box.example.com")).toMatchObject({ action: "deny" });
    expect(await explain(operator, "box.example.com", id)).toMatchObject({ action: "allow", layer: "approval" });
    expect(await explain(operator, "never.example.com")).toMatchObject({
      action: "deny",
      rule: "never.example.com:443",
    });
    expect(await explain(operator, "once.example.com", id)).toMatchObject({ action: "deny", rule: null });
  });

  it("[NET-11] lists attempts newest first with their totals, and has each in the audit log before it goes on", async () => {
    const api = await server.as("operator", "logged");
    const id = await api.create();
    const { attempts } = server;
    for (let at = 0; at < 3; at++) await attempts.attempted(attempt(`logged-${at}`, id));
    const reason = "no rule allows evil.example";
    const denied = { host: "evil.example", verdict: "denied" as const, rule: null, layer: null, reason, durationMs: 0 };
    await attempts.attempted(attempt("logged-3", id, { ...denied, address: null }));
    const { json: rows } = await api.get(`/api/v1/audit?sandbox_id=${id}&text=egress.`);
    expect(rows.map(({ type }: { type: string }) => type)).toEqual([
      "egress.denied",
      ...Array(3).fill("egress.allowed"),
    ]);
    expect(rows[0].detail).toMatchObject({ host: "evil.example", port: 443, reason });
    attempts.ended(id, "logged-2", { bytesUp: 10, bytesDown: 2_000, durationMs: 31, reason: null });
    const first = `/api/v1/egress/log?sandbox_id=${id}&limit=2`;
    await vi.waitFor(async () => {
      const { json } = await api.get(first);
      expect(json).toMatchObject([
        { id: "logged-3", verdict: "denied", reason, bytes_up: 0 },
        { id: "logged-2", verdict: "allowed", bytes_up: 10, bytes_down: 2_000, duration_ms: 31, address: "192.0.2.1" },
      ]);
    }, 20_000);
    const next = /<([^>]*)>/.exec((await api.get(first)).headers.get("link") ?? "")?.[1] ?? "";
    expect((await api.get(next)).json).toMatchObject([{ id: "logged-1", duration_ms: null }, { id: "logged-0" }]);
    expect((await api.get("/api/v1/egress/log?verdict=denied")).json).toHaveLength(1);
    expect((await (await server.as("operator", "elsewhere")).get("/api/v1/egress/log")).json).toEqual([]);
  });
});

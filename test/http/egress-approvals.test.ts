import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { publicWorld, type WebHost, webHost } from "../egress/hosts.ts";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const path = "/api/v1/approvals";

/** Prints the body of what it gets, or of what it is refused with. */
const fetch = `
import sys, urllib.request, urllib.error
try:
    print(urllib.request.urlopen(sys.argv[1]).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
`;

describe.each(engines)("a program on %s that reaches for a name which no rule knows", (engine) => {
  let server: TestServer;
  let host: WebHost;
  let agent: Api;
  let operator: Api;
  let id: string;
  beforeAll(async () => {
    host = await webHost();
    server = await openTestServer(engine, { world: publicWorld(() => host.port) });
    [agent, operator] = [await server.as("agent"), await server.as("operator")];
    await operator.send("PUT", "/api/v1/egress/policy", { json: { unknown: "ask" } });
    id = await agent.create({ engine });
    await agent.put(`/api/v1/sandboxes/${id}/files/fetch.py`, fetch);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await host?.[Symbol.asyncDispose]();
  });

  const get = async (url: string): Promise<string> => {
    const command = ["python3", "fetch.py", url];
    const { json } = await agent.post(`/api/v1/sandboxes/${id}/exec`, { command, timeout_seconds: 60 });
    expect(json).toMatchObject({ exit_code: 0, stderr: "" });
    return json.stdout.trim();
  };
  const asked = (subject: string) =>
    vi.waitFor(
      async () => {
        const { json } = await operator.get(`${path}?state=pending&kind=egress`);
        const found = json.find((one: { subject: string }) => one.subject === subject);
        if (found === undefined) throw new Error(`nobody asks for ${subject}`);
        return found.id as string;
      },
      { timeout: 30_000, interval: 20 },
    );
  const decide = async (approval: string, json: object) =>
    expect((await operator.post(`${path}/${approval}/decide`, json)).status).toBe(200);

  it("[NET-09] waits in its connection, and gets through once a human says yes; then is asked about again", async () => {
    const waiting = get("http://once.example.com/a");
    const question = await asked("once.example.com:80");
    expect(host.connections()).toBe(0);
    await decide(question, { approve: true });
    expect(await waiting).toBe("GET /a 0");
    const again = get("http://once.example.com/b");
    await decide(await asked("once.example.com:80"), { approve: false, reason: "once was enough" });
    expect(await again).toMatch(/^403 .*denied by a human: once was enough/);
  });

  it("[NET-09] is refused with what an agent can act on, and nothing has reached the host", async () => {
    const before = host.connections();
    const waiting = get("http://denied.example.com/");
    const question = await asked("denied.example.com:80");
    await decide(question, { approve: false });
    const problem = JSON.parse((await waiting).replace(/^403 /, ""));
    expect(problem).toMatchObject({
      code: "forbidden",
      details: {
        refused: "egress",
        what: "denied.example.com:80",
        approval_id: question,
        approval_state: "denied",
      },
    });
    expect(host.connections()).toBe(before);
  });

  it("[NET-09] gets through at once with a yes for once that was given in advance, and no second time", async () => {
    const { json } = await agent.post(path, { host: "early.example.com", port: 80, sandbox_id: id });
    await decide(json.id, { approve: true });
    expect(await get("http://early.example.com/c")).toBe("GET /c 0");
    expect((await agent.get(`${path}/${json.id}`)).json.used_at).not.toBeNull();
    const again = get("http://early.example.com/d");
    await decide(await asked("early.example.com:80"), { approve: false });
    expect(await again).toMatch(/^403 /);
  });

  it("[NET-09] is asked about no more once it is approved for the sandbox, until that is revoked", async () => {
    const waiting = get("http://sandbox.example.com/e");
    const question = await asked("sandbox.example.com:80");
    await decide(question, { approve: true, scope: "sandbox" });
    expect(await waiting).toBe("GET /e 0");
    expect(await get("http://sandbox.example.com/f")).toBe("GET /f 0");
    expect((await operator.get(`${path}?state=pending`)).json).toEqual([]);
    expect((await operator.post(`${path}/${question}/revoke`)).status).toBe(200);
    const again = get("http://sandbox.example.com/g");
    await decide(await asked("sandbox.example.com:80"), { approve: false });
    expect(await again).toMatch(/^403 /);
  });
});

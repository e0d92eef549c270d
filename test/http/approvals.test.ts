import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { messages } from "./messages.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;
const path = "/api/v1/approvals";

describe("approvals over REST", () => {
  let server: TestServer;
  let agent: Api;
  let operator: Api;
  let id: string;
  beforeAll(async () => {
    server = await openTestServer(engine, {
      commands: { ask: ["touch *", "category:code"], deny: ["category:network"] },
    });
    agent = await server.as("agent");
    operator = await server.as("operator");
    id = await agent.create();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  const exec = (command: string | string[], more: object = {}) =>
    agent.post(`/api/v1/sandboxes/${id}/exec`, { command, ...more });
  const pending = async () => (await operator.get(`${path}?state=pending`)).json as { id: string; subject: string }[];
  /** The question about that subject, once it is there. */
  const asked = (subject: string) =>
    vi.waitFor(
      async () => {
        const found = (await pending()).find((one) => one.subject === subject);
        if (found === undefined) throw new Error(`nobody asks for ${subject}`);
        return found.id;
      },
      { timeout: 30_000, interval: 20 },
    );
  const decide = (approval: string, json: object) => operator.post(`${path}/${approval}/decide`, json);

  it("[NET-09] an agent asks for a name and waits, an operator approves, the agent is told", async () => {
    const made = await agent.post(path, { host: "API.Example.com.", sandbox_id: id, purpose: "to fetch the data" });
    expect(made.status).toBe(201);
    expect(made.headers.get("location")).toBe(`${path}/${made.json.id}`);
    expect(made.json).toMatchObject({
      subject: "api.example.com:443",
      state: "pending",
      detail: { host: "api.example.com", port: 443, purpose: "to fetch the data" },
    });
    const waiting = agent.get(`${path}/${made.json.id}/wait?timeout_seconds=60`);
    const decided = await decide(made.json.id, { approve: true, scope: "sandbox", reason: "fine" });
    expect(decided.json).toMatchObject({ state: "approved", scope: "sandbox", reason: "fine" });
    expect((await waiting).json).toEqual(decided.json);
    const again = await agent.post(path, { host: "api.example.com", sandbox_id: id });
    expect([again.status, again.json.state]).toEqual([200, "approved"]);
    expect(again.json.reason).toBe("the rule api.example.com allows it already");
    expect((await agent.get(`${path}/${again.json.id}`)).json).toEqual(again.json);
    expect((await decide(made.json.id, { approve: false })).status).toBe(409);
  });

  it("[NET-09] an answer becomes a rule of the sandbox or of the namespace, and is refused where it would have no effect", async () => {
    const other = await agent.create();
    const ask = async (host: string) => (await agent.post(path, { host, sandbox_id: id })).json;
    const verdict = async (host: string, sandbox: string) =>
      (await agent.get(`/api/v1/egress/explain?host=${host}&port=443&sandbox_id=${sandbox}`)).json.action;
    const explained = async (host: string) => [await verdict(host, id), await verdict(host, other)];
    await decide((await ask("box.example.com")).id, { approve: true, scope: "sandbox" });
    expect(await explained("box.example.com")).toEqual(["allow", "deny"]);
    const all = await ask("all.example.com");
    const useless = await decide(all.id, { approve: true, scope: "once" });
    expect([useless.status, useless.json.hint]).toEqual([409, "approve it with the scope sandbox or always"]);
    await decide(all.id, { approve: true, scope: "always" });
    expect(await explained("all.example.com")).toEqual(["allow", "allow"]);
    expect((await operator.post(`${path}/${all.id}/revoke`)).status).toBe(200);
    expect(await explained("all.example.com")).toEqual(["deny", "deny"]);
    expect((await operator.post(`${path}/${all.id}/revoke`)).status).toBe(409);
    const bad = await ask("bad.example.com");
    await decide(bad.id, { approve: false, scope: "always" });
    expect(await ask("bad.example.com")).toMatchObject({ state: "denied" });
    await agent.delete(`/api/v1/sandboxes/${other}`);
  });

  it("answers a wait that was too short, and one of many pages", async () => {
    const made = await agent.post(path, { host: "slow.example.com", port: 8443, wait_seconds: 0 });
    const { json } = await agent.get(`${path}/${made.json.id}/wait?timeout_seconds=0`);
    expect(json).toMatchObject({ state: "pending", subject: "slow.example.com:8443", sandbox_id: null });
    for (const seconds of [0.0015, 1e-300])
      expect((await agent.get(`${path}/${made.json.id}/wait?timeout_seconds=${seconds}`)).json.state).toBe("pending");
    const first = await agent.get(`${path}?limit=1`);
    expect(first.json.map(({ id }: { id: string }) => id)).toEqual([made.json.id]);
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
    expect((await agent.get(next)).json).not.toEqual(first.json);
    expect((await decide(made.json.id, { approve: true })).status).toBe(400);
    expect((await decide(made.json.id, { approve: false, scope: "always" })).status).toBe(200);
  });

  it("refuses what is no name, and a sandbox that is not there", async () => {
    for (const host of ["https://example.com/", "a b", "*.example.com", "..", "a".repeat(64)])
      expect((await agent.post(path, { host })).status, host).toBe(400);
    expect((await agent.post(path, { host: "example.com", sandbox_id: "nope" })).status).toBe(404);
  });

  it("an agent cannot decide or revoke, its own or not", async () => {
    const { json } = await agent.post(path, { host: "mine.example.com", sandbox_id: id });
    for (const verb of ["decide", "revoke"]) {
      const body = verb === "decide" ? { approve: true } : undefined;
      expect((await agent.post(`${path}/${json.id}/${verb}`, body)).status).toBe(403);
    }
    expect((await agent.get(`${path}/${json.id}`)).json.state).toBe("pending");
    expect((await decide(json.id, { approve: false })).json.state).toBe("denied");
  });

  it("[EXE-12] a command that policy asks about waits, and runs once it is approved", async () => {
    const running = exec("touch approved && echo done");
    const question = await asked("touch approved && echo done");
    const { json } = await operator.get(`${path}/${question}`);
    expect(json).toMatchObject({ kind: "command", sandbox_id: id, detail: { rule: "touch *", run: "command" } });
    expect((await exec("ls approved")).json.exit_code).toBe(2);
    await decide(question, { approve: true });
    expect((await running).json).toMatchObject({ exit_code: 0, stdout: "done\n" });
    const [row] = await server.store.audit.search({
      sandboxId: id,
      type: "execution.completed",
      before: 1e9,
      limit: 1,
    });
    expect(row?.detail).toMatchObject({ approval_id: question });
    const log = JSON.stringify(await server.store.audit.search({ sandboxId: id, after: 0, limit: 1000 }));
    expect(log).not.toContain("touch approved");
  });

  it("[EXE-12] a denied one is refused with what an agent needs, and asked about again only when it tries again", async () => {
    const running = exec("touch denied");
    const question = await asked("touch denied");
    await decide(question, { approve: false, reason: "not now" });
    const { status, json } = await running;
    expect(status).toBe(403);
    expect(json).toMatchObject({
      code: "forbidden",
      detail: "this command is not allowed: denied by a human: not now",
      details: { refused: "command", rule: "touch *", approval_id: question, approval_state: "denied" },
    });
    expect((await exec("ls denied")).json.exit_code).toBe(2);
  });

  it("[EXE-12] an answer is for the same command with the same input, and no other", async () => {
    const running = exec("touch same", { stdin: "one" });
    await decide(await asked("touch same"), { approve: true, scope: "sandbox" });
    expect((await running).status).toBe(200);
    expect((await exec("touch same", { stdin: "one" })).status).toBe(200);
    for (const other of [{ stdin: "two" }, { env: { A: "1" }, stdin: "one" }, { cwd: "/tmp", stdin: "one" }]) {
      const another = exec("touch same", other);
      await decide(await asked("touch same"), { approve: false });
      expect((await another).status, JSON.stringify(other)).toBe(403);
    }
  });

  it("[EXE-12] a background process and a run that streams are asked about like any command", async () => {
    const starting = agent.post(`/api/v1/sandboxes/${id}/processes`, { command: ["touch", "process"] });
    await decide(await asked("touch process"), { approve: true });
    expect((await starting).status).toBe(201);
    const streaming = agent.post(`/api/v1/sandboxes/${id}/exec`, { command: "touch stream", stream: true });
    await decide(await asked("touch stream"), { approve: false });
    const { status, json } = await streaming;
    expect([status, json.details.approval_state]).toEqual([403, "denied"]);
  });

  it("[EXE-12] code is shown whole, or not asked about", async () => {
    const run = (code: string) => agent.post(`/api/v1/sandboxes/${id}/execute_code`, { language: "python", code });
    const code = `print(6 * 7)${"#".repeat(1000)}`;
    const running = run(code);
    const question = await vi.waitFor(
      async () => {
        const [found] = await pending();
        if (found === undefined) throw new Error("nobody asks");
        return found.id;
      },
      { timeout: 30_000, interval: 20 },
    );
    expect((await operator.get(`${path}/${question}`)).json).toMatchObject({
      text: code,
      detail: { language: "python" },
    });
    await decide(question, { approve: true });
    expect((await running).json.stdout).toBe("42\n");
    const long = await run(`print(1)${"#".repeat(20_000)}`);
    expect([long.status, long.json.details.rule]).toEqual([403, "category:code"]);
    expect(long.json.detail).toContain("too long");
  });

  it("a question ends with its sandbox, and is told as an event", async () => {
    const gone = await agent.create();
    const stream = await agent.open("GET", "/api/v1/events?types=approval.cancelled");
    const { json } = await agent.post(path, { host: "gone.example.com", sandbox_id: gone });
    await agent.delete(`/api/v1/sandboxes/${gone}`);
    for await (const message of messages(stream)) {
      if (message.type !== "approval.cancelled") continue;
      expect(message).toMatchObject({
        sandbox_id: gone,
        data: { approval_id: json.id, subject: "gone.example.com:443" },
      });
      break;
    }
    expect((await agent.get(`${path}/${json.id}`)).json).toMatchObject({ state: "cancelled" });
  });
});

describe("approvals where an attempt does not wait", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engine, { commands: { ask: ["touch *"] }, approvals: { holdMs: 0 } });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("[EXE-12] refuse with the question's id and where to wait, and the next attempt finds the answer, once", async () => {
    const [agent, operator] = [await server.as("agent"), await server.as("operator")];
    const id = await agent.create();
    const exec = () => agent.post(`/api/v1/sandboxes/${id}/exec`, { command: ["touch", "a b"] });
    const { status, json } = await exec();
    const { approval_id: question } = json.details;
    expect(status).toBe(403);
    expect(json.details).toMatchObject({ approval_state: "pending", wait: `GET ${path}/${question}/wait` });
    expect(json.hint).toContain(`caisson approvals wait ${question}`);
    expect((await exec()).json.details.approval_id).toBe(question);
    const waiting = agent.get(`${path}/${question}/wait`);
    await operator.post(`${path}/${question}/decide`, { approve: true });
    expect((await waiting).json).toMatchObject({ state: "approved", asked: 2, subject: "touch 'a b'" });
    expect((await exec()).status).toBe(200);
    const next = await exec();
    expect(next.status).toBe(403);
    expect(next.json.details.approval_id).not.toBe(question);
  });
});

describe("approvals where nobody attends", () => {
  it("[EXE-12] refuse at once, and name the rule", async () => {
    await using server = await openTestServer(engine, {
      commands: { ask: ["touch *"] },
      approvals: { attended: false },
    });
    const agent = await server.as("agent");
    const id = await agent.create();
    const { status, json } = await agent.post(`/api/v1/sandboxes/${id}/exec`, { command: "touch x" });
    expect([status, json.code, json.details.rule]).toEqual([403, "forbidden", "touch *"]);
    expect((await agent.post(path, { host: "example.com" })).status).toBe(403);
    expect((await agent.get(path)).json).toEqual([]);
  });
});

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { toCommand } from "../../packages/server/src/core/command.ts";
import type { Registry } from "../../packages/server/src/core/package.ts";
import { callerOf } from "../fleet/fixture.ts";
import { engines } from "../harness.ts";
import type { Api, Received } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;

interface Shown {
  id: string;
  text: string;
  detail: Record<string, unknown>;
}

const none = { variables: {}, hosts: [], folders: [], trust: {}, certificates: null, keepsFiles: false };
const registries: Record<"pip" | "npm", Registry> = {
  pip: { ...none, variables: { PIP_INDEX_URL: "https://index.example/simple", PIP_RETRIES: "0" }, problem: null },
  npm: { ...none, problem: "npm is configured for no registry on this machine" },
};

describe("[S106] what policy judges and an approval shows is what runs:", () => {
  let server: TestServer;
  let agent: Api;
  let operator: Api;
  let id: string;
  beforeAll(async () => {
    server = await openTestServer(engine, {
      commands: {
        ask: ["touch *", "category:code", "category:terminal", "pip install asked *"],
        deny: ["category:network", "pip install denied*"],
      },
      packages: { registries, mustPin: false },
    });
    agent = await server.as("agent");
    operator = await server.as("operator");
    id = await agent.create();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  const at = (rest: string) => `/api/v1/sandboxes/${id}/${rest}`;
  /** The one question that waits. */
  const asked = (): Promise<Shown> =>
    vi.waitFor(
      async () => {
        const { json } = await operator.get("/api/v1/approvals?state=pending");
        if (json.length !== 1) throw new Error(`${json.length} questions wait`);
        return (await operator.get(`/api/v1/approvals/${json[0].id}`)).json;
      },
      { timeout: 30_000, interval: 20 },
    );
  const decide = (question: Shown, json: object) => operator.post(`/api/v1/approvals/${question.id}/decide`, json);
  /** Answers the question that a request leads to. */
  async function answered(answer: object, request: Promise<Received>) {
    const question = await asked();
    await decide(question, answer);
    return { question, ...(await request) };
  }
  const yes = { approve: true, scope: "sandbox" };
  const no = { approve: false };

  it("a context is asked about before its interpreter starts, with language, folder, variables and memory", async () => {
    const body = { language: "python", cwd: "/tmp", env: { A: "one" }, resource_limits: { max_ram_mb: 128 } };
    const denied = await answered(no, agent.post(at("contexts"), body));
    expect(denied.status).toBe(403);
    expect(denied.question.detail).toMatchObject({
      ...{ run: "context", language: "python", cwd: "/tmp", variables: "A=one", memory_mb: 128, rule: "category:code" },
    });
    expect((await agent.get(at("contexts"))).json).toEqual([]);
    expect((await answered(yes, agent.post(at("contexts"), body))).status).toBe(201);
    expect((await agent.post(at("contexts"), body)).status).toBe(201); // the same again
    const other = await answered(no, agent.post(at("contexts"), { ...body, env: { A: "two" } }));
    expect(other.status).toBe(403);
  });

  it("a yes for code in one context holds for no other, and shows where the code runs", async () => {
    const [first, second] = (await agent.get(at("contexts"))).json as { id: string }[];
    const run = (context: string | undefined, code: string) => agent.post(at(`contexts/${context}/run`), { code });
    const allowed = await answered(yes, run(first?.id, "import os; print(os.getcwd(), os.environ['A'])"));
    expect(allowed.question.detail).toMatchObject({
      ...{ run: "code", language: "python", context: first?.id, cwd: "/tmp", variables: "A=one", memory_mb: 128 },
    });
    expect(allowed.json).toMatchObject({ stdout: "/tmp one\n" });
    expect((await run(first?.id, "import os; print(os.getcwd(), os.environ['A'])")).status).toBe(200);
    const elsewhere = await answered(no, run(second?.id, "import os; print(os.getcwd(), os.environ['A'])"));
    expect(elsewhere.status).toBe(403);
  });

  it("code that was judged for a context does not run in another one that has its id", async () => {
    const caller = callerOf("default");
    const { record } = await server.fleet.create(caller, {});
    const make = (cwd: string) =>
      server.fleet.use(caller, record.id, ({ contexts }) => contexts.create({ language: "python", cwd }));
    const { language, use: context } = await make("/tmp");
    await server.fleet.stop(caller, record.id);
    const other = await make("/workspace");
    expect(other.id).toBe(context.id);
    const code = "import os; print(os.getcwd())";
    const run = (use: typeof context) =>
      server.fleet.use(caller, record.id, (sandbox) =>
        sandbox.command(toCommand({ what: { code, language, context: use } })).runInContext(),
      );
    await expect(run(context)).rejects.toMatchObject({ code: "conflict" });
    expect(await run(other.use)).toMatchObject({ stdout: "/workspace\n" });
    await server.fleet.destroy(caller, record.id);
  });

  it("a process with a terminal is judged as a terminal, and whoever is asked sees how it is typed into", async () => {
    const body = { command: ["cat"], terminal: { rows: 5, columns: 9 } };
    const { status, question } = await answered(no, agent.post(at("processes"), body));
    expect(status).toBe(403);
    expect(question.detail).toMatchObject({ run: "process", terminal: "5x9", rule: "category:terminal" });
    const piped = await answered(no, agent.post(at("processes"), { command: ["touch", "x"], stdin: true }));
    expect(piped.question.detail).toMatchObject({ run: "process", stdin_open: true, rule: "touch *" });
    expect((await agent.post(at("processes"), { command: ["true"] })).status).toBe(201);
  });

  it("a yes holds for the same names and limits alone, which are shown", async () => {
    const exec = (more: object) => operator.post(at("exec"), { command: "touch named", ...more });
    expect((await answered(yes, exec({}))).status).toBe(200);
    expect((await exec({})).status).toBe(200);
    const named = await answered(no, exec({ allowed_domains: ["api.example.com"] }));
    expect([named.status, named.question.detail.domains]).toEqual([403, "api.example.com"]);
    for (const [more, detail] of [
      [{ timeout_seconds: 7 }, { timeout_seconds: 7 }],
      [{ resource_limits: { memory_mb: 64 } }, { memory_mb: 64 }],
    ]) {
      const limited = await answered(no, exec(more as object));
      expect(limited.status).toBe(403);
      expect(limited.question.detail).toMatchObject(detail as object);
    }
  });

  it("an installation is judged by the program that runs, with all its arguments and variables", async () => {
    const install = (name: string) => agent.post(at("packages"), { manager: "pip", packages: [name] });
    const denied = await install("denied==1");
    expect([denied.status, denied.json.details.rule]).toEqual([403, "pip install denied*"]);
    const many = agent.post(at("packages"), { manager: "pip", packages: ["asked", "other"], timeout_seconds: 90 });
    const { question, status } = await answered({ approve: true }, many);
    expect(question).toMatchObject({
      text: "/.caisson/bin/install/pip install asked other",
      detail: {
        ...{ run: "command", cwd: "/workspace", timeout_seconds: 90 },
        variables: expect.stringContaining("PIP_INDEX_URL=https://index.example/simple"),
      },
    });
    expect(status).toBe(200);
    const { json: runs } = await agent.get(at("runs"));
    expect(runs.map(({ command }: { command: string }) => command)).toContain(question.text);
  });

  it("a template's warm-up is asked about as it runs in every sandbox of the template", async () => {
    const body = { name: "warm", storage_mb: 16, warm_up: { language: "python", code: "x = 1" } };
    const made = await operator.post("/api/v1/templates", body);
    expect(made.status).toBe(202);
    const question = await asked();
    expect(question).toMatchObject({
      text: "x = 1",
      detail: { run: "code", language: "python", context: "shared", timeout_seconds: 300, cpu_time_seconds: 300 },
    });
    await decide(question, no);
    await vi.waitFor(
      async () => expect((await operator.get("/api/v1/templates/warm")).json).toMatchObject({ state: "failed" }),
      { timeout: 30_000, interval: 50 },
    );
    await operator.delete("/api/v1/templates/warm");
  });

  it("the log has the run's id of a context that was allowed, and the approval", async () => {
    const rows = await server.store.audit.search({ sandboxId: id, type: "context.created", before: 1e9, limit: 9 });
    expect(rows).toMatchObject([
      { runId: expect.stringMatching(/^run_/), detail: { kind: "context", language: "python", id: "python-2" } },
      { detail: { id: "python-1", approval_id: expect.stringMatching(/^apr_/) } },
    ]);
  });
});

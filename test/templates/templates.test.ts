import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import type { Api } from "../http/api.ts";
import { openTestServer, type TestServer } from "../http/server.ts";

const templates = "/api/v1/templates";
const sandboxes = "/api/v1/sandboxes";

/** Settled: ready or failed. */
async function made(api: Api, asked: object) {
  const { status, json } = await api.post(templates, asked);
  expect(status, JSON.stringify(json)).toBe(202);
  for (;;) {
    const found = (await api.get(`${templates}/${json.id}`)).json;
    if (found.state !== "building") return found;
    await sleep(50);
  }
}

async function run(api: Api, id: string, code: string, context = "python-1") {
  const { json } = await api.post(`${sandboxes}/${id}/contexts/${context}/run`, { code });
  expect(json.error, JSON.stringify(json)).toBeUndefined();
  return json.results[0]?.json;
}

const table = {
  name: "table",
  env: { KIND: "counts" },
  files: [
    { path: "data/rows.txt", text: "1\n2\n3\n" },
    { path: "more.bin", base64: Buffer.from([0, 255]).toString("base64") },
  ],
  warm_up: {
    language: "python",
    code: "import os, time\nrows = [int(n) for n in open('data/rows.txt')]\nat = time.time_ns()\nkind = os.environ['KIND']\nopen('warmed', 'a').write('once')",
  },
};

describe.each(engines)("[IMG-06] a template, %s", (engine) => {
  let server: TestServer;
  let operator: Api;
  let agent: Api;
  beforeAll(async () => {
    server = await openTestServer(engine);
    operator = await server.as("operator");
    agent = await server.as("agent");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("gives its sandboxes files, variables and what its warm-up left, and each goes its own way", async () => {
    const template = await made(operator, table);
    expect(template).toMatchObject({ state: "ready", step: null, error: null, engine, memory: engine === "gvisor" });
    const moments: number[] = [];
    const ids: string[] = [];
    for (const value of [10, 20]) {
      const { status, json } = await agent.post(sandboxes, { template: "table", env: { OWN: "yes" } });
      expect(status, JSON.stringify(json)).toBe(201);
      const memory = engine === "gvisor";
      expect(json.template).toEqual({ id: template.id, name: "table", memory, why: template.why });
      expect(json.origin).toBe(`template table: ${memory ? "memory" : "files, and its warm-up ran at the start"}`);
      ids.push(json.id);
      expect(await run(agent, json.id, "[rows, kind, open('warmed').read()]")).toEqual([[1, 2, 3], "counts", "once"]);
      moments.push(await run(agent, json.id, `rows.append(${value}); open('mine', 'x'); at`));
      expect(await run(agent, json.id, "rows[3:]")).toEqual([value]);
      const said = await agent.post(`${sandboxes}/${json.id}/exec`, { command: 'echo "$KIND $OWN"; wc -c < more.bin' });
      expect(said.json.stdout).toBe("counts yes\n2\n");
    }
    expect(moments[0] === moments[1]).toBe(engine === "gvisor"); // the warm-up ran once, or once for each
    expect((await operator.delete(`${templates}/table`)).status).toBe(409);
    for (const id of ids) await agent.delete(`${sandboxes}/${id}`);
    expect((await operator.delete(`${templates}/table`)).status).toBe(204);
    expect(await server.caisson.layers()).toEqual([]);
    expect((await server.caisson.keptSandboxes()).length).toBe(0);
  });

  it("is what a reset of its sandbox goes back to", async () => {
    await made(operator, { ...table, name: "again" });
    const { id } = (await agent.post(sandboxes, { template: "again" })).json;
    await run(agent, id, "rows.clear(); open('data/rows.txt', 'w').write('9'); open('mine', 'x')");
    const reset = await agent.post(`${sandboxes}/${id}/reset`);
    expect(reset.json.template).toMatchObject({ name: "again", memory: false, why: "it was reset" });
    const shown = await run(agent, id, "import os; [rows, open('warmed').read(), os.path.exists('mine')]");
    expect(shown).toEqual([[1, 2, 3], "once", false]);
    await agent.delete(`${sandboxes}/${id}`);
    await operator.delete(`${templates}/again`);
  });

  it("that fails names the step, says why and leaves nothing", async () => {
    const failed = await made(operator, {
      name: "broken",
      files: [{ path: "a", text: "a" }],
      warm_up: { language: "python", code: "1 / 0" },
    });
    expect(failed).toMatchObject({ state: "failed", step: "warm-up", error: expect.stringContaining("ZeroDivision") });
    expect((await agent.post(sandboxes, { template: "broken" })).status).toBe(409);
    expect((await agent.get(sandboxes)).json).toEqual([]);
    expect(await server.caisson.layers()).toEqual([]);
    expect((await server.caisson.keptSandboxes()).length).toBe(0);
    const shell = { language: "shell", code: "echo warm > w" };
    expect(await made(operator, { name: "broken", warm_up: shell })).toMatchObject({ state: "ready" });
    await operator.delete(`${templates}/broken`);
  });

  it("decides about image, engine, files and storage", async () => {
    await made(operator, { name: "fixed" });
    for (const asked of [{ image: "host" }, { engine }, { snapshot_id: "x" }, { storage_mb: 999 }])
      expect((await agent.post(sandboxes, { template: "fixed", ...asked })).status).toBe(400);
    const { json } = await agent.post(sandboxes, { template: "fixed", memory_mb: 96 });
    expect(json).toMatchObject({ memory_mb: 96, template: { memory: false, why: "it has no warm-up" } });
    await agent.delete(`${sandboxes}/${json.id}`);
    await operator.delete(`${templates}/fixed`);
  });

  it("is its namespace's, and agents cannot make one", async () => {
    await made(operator, { name: "own" });
    const stranger = await server.as("operator", "elsewhere");
    expect((await stranger.get(templates)).json).toEqual([]);
    expect((await stranger.get(`${templates}/own`)).status).toBe(404);
    expect((await stranger.post(sandboxes, { template: "own" })).status).toBe(404);
    expect((await stranger.delete(`${templates}/own`)).status).toBe(404);
    expect((await agent.post(templates, { name: "mine" })).status).toBe(403);
    expect((await operator.post(templates, { name: "own" })).status).toBe(409);
    await operator.delete(`${templates}/own`);
  });
});

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

describe.each(engines)("sandboxes over REST (%s)", (engine) => {
  let server: TestServer;
  let api: Api;
  beforeAll(async () => {
    server = await openTestServer(engine);
    api = await server.as("agent");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("are created as the first example of the REST seed says, and a session gets the same one again", async () => {
    const asked = { image: "host", memory_mb: 512, idle_timeout_seconds: 1800, session_key: "agent-session-abc" };
    const first = await api.post("/api/v1/sandboxes", asked);
    expect(first.status).toBe(201);
    expect(first.json).toMatchObject({ status: "running", workspace_path: "/workspace", engine, memory_mb: 512 });
    expect(first.headers.get("location")).toBe(`/api/v1/sandboxes/${first.json.id}`);
    const again = await api.post("/api/v1/sandboxes", asked);
    expect(again.status).toBe(200);
    expect(again.json.id).toBe(first.json.id);
    expect((await api.delete(`/api/v1/sandboxes/${first.json.id}`)).status).toBe(204);
    expect((await api.get(`/api/v1/sandboxes/${first.json.id}`)).status).toBe(404);
  });

  it("take process and docker as other names of the engine container, and no other word", async () => {
    const made = await api.post("/api/v1/sandboxes", { engine: "docker" });
    expect(made.json).toMatchObject({ engine: "container" });
    const session_id = "of-a-process";
    const session = await api.post("/api/v1/tools/create_session", { engine: "process", session_id });
    expect(session.json).toMatchObject({ result: { engine: "container" } });
    const operator = await server.as("operator");
    const template = await operator.post("/api/v1/templates", { name: "of-docker", engine: "docker" });
    expect(template.json).toMatchObject({ engine: "container" });
    await expect.poll(async () => (await api.get("/api/v1/templates/of-docker")).json.state).toBe("ready");
    expect((await api.post("/api/v1/sandboxes", { engine: "podman" }, { bad: true })).status).toBe(400);
    await operator.delete("/api/v1/templates/of-docker");
    for (const id of [made.json.id, session.json.result.sandbox_id]) await api.delete(`/api/v1/sandboxes/${id}`);
  });

  it("of an unknown image are refused with the list of images", async () => {
    const { status, json } = await api.post("/api/v1/sandboxes", { image: "mcpgateway/sandbox-python:3.12" });
    expect(status).toBe(404);
    expect(json).toMatchObject({ code: "not_found", details: { images: ["host"] } });
  });

  it("run a command and answer as the seed says, field by field", async () => {
    const id = await api.create();
    const command = "mkdir -p outputs && printf PNG > outputs/chart.png && echo 'Analysis complete. 1,234 rows.'";
    const { status, json } = await api.post(`/api/v1/sandboxes/${id}/exec`, { command, timeout_seconds: 300 });
    expect(status).toBe(200);
    expect(json).toMatchObject({ exit_code: 0, stdout: "Analysis complete. 1,234 rows.\n", stderr: "" });
    expect(json.duration_ms).toBeTypeOf("number");
    expect(json.files_changed).toContainEqual({
      path: "outputs/chart.png",
      action: "created",
      size_bytes: 3,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    await api.delete(`/api/v1/sandboxes/${id}`);
  });

  it("are listed by pages that a Link header leads through", async () => {
    const ids = [await api.create({ labels: { n: "1" } }), await api.create(), await api.create()];
    const seen: string[] = [];
    let next: string | undefined = "/api/v1/sandboxes?limit=2&status=running";
    for (let pages = 0; next !== undefined && pages < 10; pages++) {
      const page = await api.get(next);
      expect(Array.isArray(page.json)).toBe(true);
      seen.push(...page.json.map((one: { id: string }) => one.id));
      next = /<([^>]+)>; rel="next"/.exec(page.headers.get("link") ?? "")?.[1];
    }
    expect(seen.sort()).toEqual([...ids].sort());
    for (const id of ids) await api.delete(`/api/v1/sandboxes/${id}`);
  });

  it("have a description in one line of at most 256 characters, which PATCH changes and lists show", async () => {
    const created = await api.post("/api/v1/sandboxes", { description: "ä report" });
    expect(created.json.description).toBe("ä report");
    const at = `/api/v1/sandboxes/${created.json.id}`;
    const change = (description: string, options = {}) => api.send("PATCH", at, { json: { description }, ...options });
    for (const bad of ["x".repeat(257), "two\nlines", "\u001b[2J", "\u009b2J"])
      expect((await change(bad, { bad: true })).status).toBe(400);
    expect((await api.get(at)).json.description).toBe("ä report");
    expect((await change("x".repeat(256))).json.description).toBe("x".repeat(256));
    expect((await change("")).json.description).toBe("");
    const { json: listed } = await api.get("/api/v1/sandboxes?limit=1");
    expect(listed).toMatchObject([{ id: created.json.id, description: "" }]);
    await api.delete(at);
  });

  it("pause and resume", async () => {
    const id = await api.create();
    expect((await api.post(`/api/v1/sandboxes/${id}/pause`)).json.status).toBe("paused");
    expect((await api.post(`/api/v1/sandboxes/${id}/resume`)).json.status).toBe("running");
    const changed = await api.send("PATCH", `/api/v1/sandboxes/${id}`, { json: { labels: { a: "b" } } });
    expect(changed.json.labels).toEqual({ a: "b" });
    await api.delete(`/api/v1/sandboxes/${id}`);
  });
});

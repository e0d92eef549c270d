import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

describe.each(engines)("other resources over REST (%s)", (engine) => {
  let server: TestServer;
  let api: Api;
  let operator: Api;
  let id: string;
  let at: string;
  beforeAll(async () => {
    server = await openTestServer(engine);
    api = await server.as("agent");
    operator = await server.as("operator");
    id = await api.create({ labels: { purpose: "resources" } });
    at = `/api/v1/sandboxes/${id}`;
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("[EXE-14] runs are listed newest first, by pages", async () => {
    for (const n of [1, 2, 3]) await api.post(`${at}/exec`, { command: `echo run ${n}; exit ${n}` });
    const first = await api.get(`${at}/runs?limit=2`);
    expect(first.json).toMatchObject([
      { exit_code: 3, command: "echo run 3; exit 3", stdout: "run 3\n", sandbox_id: id },
      { exit_code: 2 },
    ]);
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
    const last = await api.get(next);
    expect(last.json).toMatchObject([{ exit_code: 1 }]);
    expect(last.headers.get("link")).toBeNull();
  });

  it("[EXE-14] [IDN-04] runs of a destroyed sandbox are listed for the namespace that had it, and for no other", async () => {
    const gone = await api.create();
    const runs = `/api/v1/sandboxes/${gone}/runs`;
    await api.post(`/api/v1/sandboxes/${gone}/exec`, { command: "echo left" });
    await api.delete(`/api/v1/sandboxes/${gone}`);
    expect((await api.get(`/api/v1/sandboxes/${gone}`)).status).toBe(404);
    for (const own of [api, operator, await server.as("viewer")])
      expect(await own.get(runs)).toMatchObject({ status: 200, json: [{ command: "echo left", stdout: "left\n" }] });
    const none = gone.split("").reverse().join("");
    const other = await server.as("admin", "other");
    const told = ({ status, json }: { status: number; json: object }, id: string) =>
      JSON.stringify({ status, ...json, request_id: "" }).replaceAll(id, "ID");
    const refused = await other.get(runs);
    expect(refused.status).toBe(404);
    expect(told(refused, gone)).toBe(told(await other.get(`/api/v1/sandboxes/${none}/runs`), none));
    const named = other.with({ "x-caisson-namespace": "default" });
    expect((await named.get(runs)).json).toHaveLength(1);
  });

  it("[EXE-14] [S79] runs of a destroyed sandbox that a template was made in are listed for those who could find it", async () => {
    const principal = { id: "k", name: "operator", namespace: "default", role: "operator" } as const;
    const caller = { principal, requestId: "r" };
    const { record } = await server.fleet.create(caller, { forTemplate: true });
    const runs = `/api/v1/sandboxes/${record.id}/runs`;
    await operator.post(`/api/v1/sandboxes/${record.id}/exec`, { command: "echo made" });
    for (const state of ["running", "destroyed"]) {
      if (state === "destroyed") await operator.delete(`/api/v1/sandboxes/${record.id}`);
      expect((await operator.get(runs)).json, state).toMatchObject([{ command: "echo made" }]);
      expect((await api.get(runs)).status, state).toBe(404);
    }
  });

  it("code runs in its language", async () => {
    const code = (language: string, text: string) => api.post(`${at}/execute_code`, { language, code: text });
    expect((await code("python", "print(6 * 7)")).json.stdout).toBe("42\n");
    expect((await code("node", "console.log(6 * 7)")).json.stdout).toBe("42\n");
    expect((await code("shell", "echo $((6 * 7))")).json.stdout).toBe("42\n");
  });

  it("exec takes folder, variables, input and limits", async () => {
    const { json } = await api.post(`${at}/exec`, {
      command: ["sh", "-c", "pwd; cat; echo $NAME"],
      cwd: "/tmp",
      env: { NAME: "value" },
      stdin: "typed\n",
      resource_limits: { max_processes: 8, cpu_time_seconds: 5, max_output_bytes: 1000 },
    });
    expect(json.stdout).toBe("/tmp\ntyped\nvalue\n");
    const late = await api.post(`${at}/exec`, { command: "sleep 1000", timeout_seconds: 0.2 });
    expect([late.status, late.json.timed_out]).toEqual([200, true]);
    const out = await api.post(`${at}/exec`, { command: "true", allowed_domains: ["*"] });
    expect([out.status, out.json.code]).toEqual([400, "invalid"]);
  });

  it("[EXE-09] artifacts are listed, read, signed and verified", async () => {
    await api.put(`${at}/files/output/chart.txt`, "chart");
    const { json: list } = await api.get(`${at}/artifacts`);
    expect(list).toMatchObject([{ path: "chart.txt", size_bytes: 5 }]);
    const { json: read } = await api.get(`${at}/artifacts/content/chart.txt`);
    expect(Buffer.from(read.content_base64, "base64").toString()).toBe("chart");
    const { json: manifest } = await api.post(`${at}/artifacts/manifest`);
    const verify = async (body: object) => (await api.post("/api/v1/artifacts/verify", body)).json.valid;
    expect(await verify({ manifest })).toBe(true);
    expect(await verify({ manifest, path: "chart.txt", content_base64: read.content_base64 })).toBe(true);
    expect(await verify({ manifest, path: "chart.txt", content_base64: "bm8=" })).toBe(false);
    expect(await verify({ manifest: { ...manifest, sandbox_id: "other" } })).toBe(false);
    expect((await server.anonymous.get("/api/v1/signing-key")).json.public_key).toContain("BEGIN PUBLIC KEY");
  });

  it.each(["as a whole", "as a stream"])(
    "[EXE-14] the log has hashes of what a run wrote %s, as its record has it",
    async (how) => {
      const stream = how === "as a stream";
      await api.post(`${at}/exec`, {
        command: "echo out; echo wrong >&2; head -c 100000 /dev/zero | tr '\\0' x",
        stream,
      });
      await api.post(`${at}/exec`, { command: "true", stream });
      const type = "execution.completed";
      const { json: entries } = await operator.get(`/api/v1/audit?sandbox_id=${id}&type=${type}&limit=2`);
      const [record] = (await api.get(`${at}/runs`)).json.slice(1);
      const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
      expect(record).toMatchObject({ stdout: expect.stringMatching(/^out\nx+$/), stderr: "wrong\n", truncated: true });
      const hashes = { stdout_sha256: sha256(record.stdout), stderr_sha256: sha256(record.stderr) };
      expect(entries[1].detail).toMatchObject(hashes);
      expect(Object.keys(entries[0].detail)).not.toContain("stdout_sha256");
    },
  );

  it("[AUD-02] the timeline is searched, verified and exported, each namespace its own", async () => {
    await api.post(`${at}/exec`, { command: "echo secret-command-text" });
    const found = await operator.get(`/api/v1/audit?sandbox_id=${id}&type=execution.completed&limit=2`);
    expect(found.json[0]).toMatchObject({ type: "execution.completed", sandbox_id: id, namespace: "default" });
    expect(found.json[0].detail).toMatchObject({
      command_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      exit_code: 0,
      files_changed: 0,
      files_changed_sha256: createHash("sha256").update("[]").digest("hex"),
    });
    const next = /<([^>]+)>; rel="next"/.exec(found.headers.get("link") ?? "")?.[1] ?? "";
    expect((await operator.get(next)).json[0].position).toBeLessThan(found.json[1].position);
    const verdict = (await operator.post("/api/v1/audit/verify")).json;
    expect(verdict).toMatchObject({ ok: true, chains: [{ namespace: "default" }], problems: [] });
    const exported = (await operator.get("/api/v1/audit/export")).bytes.toString();
    const lines = exported
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map((line) => line.type)).toContain("execution.completed");
    expect(exported).not.toContain("secret-command-text");
    for (const key of [api, operator]) expect(exported).not.toContain(key.headers["x-api-key"]);
    const ocsf = (await operator.get("/api/v1/audit/export?format=ocsf&type=execution.completed")).bytes.toString();
    expect(JSON.parse(ocsf.split("\n")[0] ?? "")).toMatchObject({ metadata: { product: { name: "Caisson" } } });
    const other = await server.as("operator", "elsewhere");
    expect((await other.get("/api/v1/audit")).json).toEqual([]);
    expect((await operator.get("/api/v1/audit?all_namespaces=true")).status).toBe(403);
  });

  it("the place tells of its queue, pools, limits, settings and numbers", async () => {
    expect((await api.get("/api/v1/queue")).json).toMatchObject({ max_concurrent: 8, waiting: 0 });
    expect(Array.isArray((await operator.get("/api/v1/pool")).json)).toBe(true);
    expect((await api.get("/api/v1/limits")).json.memory_bytes.max).toBe(8 * 1024 ** 3);
    expect((await operator.get("/api/v1/config")).json).toContainEqual({
      name: "engine",
      value: engine,
      origin: "options",
    });
    const stats = (await api.get("/api/v1/stats")).json;
    expect(stats.sandboxes.running).toBe(1);
    expect((await api.get(`${at}/stats`)).json.processes).toBeGreaterThan(0);
  });

  it("[API-03] the same Idempotency-Key gets the same answer, also when both come at once", async () => {
    const headers = { "idempotency-key": `once-${engine}` };
    const create = (labels: object) => api.post("/api/v1/sandboxes", { labels }, { headers });
    const [one, two] = await Promise.all([create({ a: "1" }), create({ a: "1" })]);
    expect([one.status, two.status, one.json.id]).toEqual([201, 201, two.json.id]);
    const again = await create({ a: "1" });
    expect([again.json.id, again.headers.get("idempotency-replayed")]).toEqual([one.json.id, "true"]);
    const changed = await create({ a: "2" });
    expect([changed.status, changed.json.code]).toEqual([422, "conflict"]);
    const other = await (await server.as("agent")).post("/api/v1/sandboxes", { labels: { a: "1" } }, { headers });
    expect(other.json.id).not.toBe(one.json.id);
    await api.delete(`/api/v1/sandboxes/${one.json.id}`);
    await api.delete(`/api/v1/sandboxes/${other.json.id}`);
  });

  it("[API-03] a request that failed leaves its Idempotency-Key free", async () => {
    const headers = { "idempotency-key": `failed-${engine}` };
    expect((await api.post("/api/v1/sandboxes", { image: "nope" }, { headers })).status).toBe(404);
    const { status, json } = await api.post("/api/v1/sandboxes", {}, { headers });
    expect(status).toBe(201);
    await api.delete(`/api/v1/sandboxes/${json.id}`);
  });

  it("a sandbox is stopped, started with its files, and reset", async () => {
    await api.put(`${at}/files/kept`, "kept");
    expect((await api.post(`${at}/stop`)).json.status).toBe("stopped");
    expect((await api.post(`${at}/start`)).json.status).toBe("running");
    expect((await api.get(`${at}/files/kept`)).bytes.toString()).toBe("kept");
    expect((await api.post(`${at}/reset`)).json.status).toBe("running");
    expect((await api.get(`${at}/files/kept`)).status).toBe(404);
  });

  it("no key, variable or file content is in the log or was reported as an error", async () => {
    const env = { TOKEN: "env-secret-value" };
    await api.post(`${at}/exec`, { command: "echo command-secret-text", env, stdin: "input-secret-text" });
    await api.put(`${at}/files/f`, "file-secret-content");
    const rows = JSON.stringify(await server.store.audit.search({ limit: 1000 }));
    const told = rows + JSON.stringify(server.errors.map(String));
    for (const secret of ["env-secret", "command-secret", "input-secret", "file-secret", api.headers["x-api-key"]])
      expect(told).not.toContain(secret);
  });
});

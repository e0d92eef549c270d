import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Api } from "../http/api.ts";
import { openTestServer, type TestServer } from "../http/server.ts";

const path = "/api/v1/sandboxes";

describe("[LIF-10] secrets and copies of a gVisor sandbox", () => {
  let server: TestServer;
  let api: Api;
  let operator: Api;
  beforeAll(async () => {
    server = await openTestServer("gvisor");
    api = await server.as("agent");
    operator = await server.as("operator");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const bind = async (name: string, value: string, delivery: object, sandbox?: string) => {
    await operator.put(`/api/v1/secrets/${name}`, value);
    const target = sandbox === undefined ? { all: true } : { sandbox_id: sandbox };
    const bound = await operator.post(`/api/v1/secrets/${name}/bindings`, { target, deliver: delivery });
    expect(bound.status).toBe(201);
  };
  const run = async (id: string, command: string) =>
    (await api.post(`${path}/${id}/exec`, { command })).json.stdout as string;

  it("has files alone once a value was in it, also when the secret is gone", async () => {
    const id = await api.create();
    await bind("FILE_KEY", "value-in-a-file-0001", { as: "file" }, id);
    expect(await run(id, "test -s /run/secrets/FILE_KEY && echo here")).toBe("here\n");
    await run(id, "cat /run/secrets/FILE_KEY /run/secrets/FILE_KEY >/workspace/copied");
    for (const refused of ["fork", "checkpoints"]) {
      const body = refused === "fork" ? { memory: "required" } : {};
      const { status, json } = await api.post(`${path}/${id}/${refused}`, body);
      expect({ status, detail: json.detail }).toEqual({ status: 422, detail: expect.stringContaining("secret") });
    }
    await operator.delete("/api/v1/secrets/FILE_KEY");
    const { json } = await api.post(`${path}/${id}/fork`);
    expect(json).toMatchObject({ memory: false, why: expect.stringContaining("secret") });
    const search = "grep -rl value-in-a-file-0001 /workspace /run /tmp /dev/shm; env | grep value-in; wc -c <copied";
    expect(await run(json.sandboxes[0].id, search)).toBe("40\n");
    expect(await readFile(join(server.home, "daemon/caisson.db"))).not.toContain("value-in-a-file-0001");
    for (const one of [id, json.sandboxes[0].id]) await api.delete(`${path}/${one}`);
  });

  it("has files alone where a value comes into it only as it starts to be copied", async () => {
    const id = await api.create();
    expect((await api.post(`${path}/${id}/stop`)).status).toBeLessThan(300);
    await bind("LATE_KEY", "value-that-is-late-0004", { as: "env", variable: "LATE" }, id);
    const refused = await api.post(`${path}/${id}/checkpoints`, {});
    expect({ status: refused.status, detail: refused.json.detail }).toEqual({
      status: 422,
      detail: expect.stringContaining("secret"),
    });
    const other = await api.create();
    expect((await api.post(`${path}/${other}/stop`)).status).toBeLessThan(300);
    await bind("LATER_KEY", "value-that-is-late-0005", { as: "file" }, other);
    const { json } = await api.post(`${path}/${other}/fork`);
    expect(json).toMatchObject({ memory: false, why: expect.stringContaining("secret") });
    for (const one of [id, other, json.sandboxes[0].id]) await api.delete(`${path}/${one}`);
    for (const name of ["LATE_KEY", "LATER_KEY"]) await operator.delete(`/api/v1/secrets/${name}`);
  });

  it("has the placeholder that its programs know where the binding is for it too, and else one of its own or none", async () => {
    const deliver = (variable: string) => ({ as: "header", header: "x-key", hosts: ["a.example.com"], variable });
    const id = await api.create();
    await bind("SHARED_KEY", "value-of-all-00002", deliver("SHARED"));
    await bind("OWN_KEY", "value-of-one-00003", deliver("OWN"), id);
    const { json: context } = await api.post(`${path}/${id}/contexts`, { language: "python" });
    const { json } = await api.post(`${path}/${id}/fork`, { memory: "required" });
    expect(json).toMatchObject({ memory: true });
    const copy = json.sandboxes[0].id;
    const [shared, own] = (await run(id, "echo $SHARED $OWN")).trim().split(" ");
    const run2 = { code: "import os; [os.environ['SHARED'], os.environ['OWN']]" };
    const known = await api.post(`${path}/${copy}/contexts/${context.id}/run`, run2);
    expect(known.json.results[0].json).toEqual([shared, own]);
    expect((await run(copy, "echo $SHARED $OWN")).trim()).toBe(shared);
    const bound = (of: string) => server.vault.placeholders(of).map(({ placeholder }) => placeholder);
    expect(bound(copy)).toEqual([shared]);
    expect(bound(id).sort()).toEqual([shared, own].sort());
    for (const one of [id, copy]) await api.delete(`${path}/${one}`);
    for (const name of ["SHARED_KEY", "OWN_KEY"]) await operator.delete(`/api/v1/secrets/${name}`);
  });
});

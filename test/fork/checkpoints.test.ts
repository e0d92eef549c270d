import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Api } from "../http/api.ts";
import { openTestServer, type TestServer } from "../http/server.ts";

const path = "/api/v1/sandboxes";

describe("[LIF-07] a checkpoint of a gVisor sandbox", () => {
  let server: TestServer;
  let api: Api;
  beforeAll(async () => {
    server = await openTestServer("gvisor");
    api = await server.as("agent");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const run = async (id: string, name: string, code: string) => {
    const { json } = await api.post(`${path}/${id}/contexts/${name}/run`, { code });
    expect(json.error).toBeUndefined();
    return json.results[0]?.json;
  };
  const sealedPath = (id: string) => join(server.home, "engine/checkpoints", id, "memory.sealed");

  it("is gone on from later, any number of times, with variables, processes and files, also when the original is gone", async () => {
    const id = await api.create({ labels: { of: "mine" } });
    const context = (await api.post(`${path}/${id}/contexts`, { language: "python" })).json.id;
    await run(id, context, "x = ['before']; open('f', 'w').write('before')");
    const loop = "while read line; do echo got $line; done";
    const process = (await api.post(`${path}/${id}/processes`, { command: loop, stdin: true })).json.id;
    const made = await api.post(`${path}/${id}/checkpoints`, { name: "a good moment" });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({ sandbox_id: id, name: "a good moment", engine: "gvisor" });
    const checkpoint = made.json.id;
    expect((await api.get("/api/v1/checkpoints")).json).toEqual([made.json]);
    await run(id, context, "x.append('after'); open('f', 'w').write('after')");
    expect(await run(id, context, "x")).toEqual(["before", "after"]);
    await api.delete(`${path}/${id}`);
    const ids: string[] = [];
    for (const word of ["first", "second"]) {
      const restored = await api.post(`/api/v1/checkpoints/${checkpoint}/restore`);
      expect(restored.status).toBe(201);
      expect(restored.json).toMatchObject({ status: "running", labels: { of: "mine" } });
      expect(restored.json.origin).toContain(checkpoint);
      const at = restored.json.id;
      ids.push(at);
      expect(await run(at, context, `x.append('${word}'); [x, open('f').read()]`)).toEqual([
        ["before", word],
        "before",
      ]);
      await api.post(`${path}/${at}/processes/${process}/stdin`, { data: `${word}\n`, close: true });
      expect((await api.post(`${path}/${at}/processes/${process}/wait`)).json).toMatchObject({
        result: { exit_code: 0 },
      });
      const output = await api.get(`${path}/${at}/processes/${process}/output`);
      expect(output.bytes.toString()).toContain(`got ${word}`);
    }
    for (const one of ids) await api.delete(`${path}/${one}`);
    expect((await api.delete(`/api/v1/checkpoints/${checkpoint}`)).status).toBe(204);
    expect((await api.get(`/api/v1/checkpoints/${checkpoint}`)).status).toBe(404);
    expect(await readdir(join(server.home, "engine/checkpoints"))).toEqual([]);
    expect((await readdir(join(server.home, "engine/layers"))).filter((name) => name !== "mounted")).toEqual([]);
  });

  it("[LIF-10] is sealed: changed, cut or with another's key it opens nothing, and its file is root's alone", async () => {
    const id = await api.create();
    const made = [await api.post(`${path}/${id}/checkpoints`), await api.post(`${path}/${id}/checkpoints`)];
    const [one = "", other = ""] = made.map(({ json }) => json.id);
    expect((await stat(sealedPath(one))).mode & 0o777).toBe(0o600);
    const sealed = await readFile(sealedPath(one));
    const refused = async (bytes: Buffer) => {
      await writeFile(sealedPath(one), bytes);
      const { status, json } = await api.post(`/api/v1/checkpoints/${one}/restore`);
      expect({ status, detail: json.detail }).toEqual({
        status: 503,
        detail: expect.stringContaining("cannot open checkpoint"),
      });
    };
    const changed = Buffer.from(sealed);
    changed[100] = (changed[100] ?? 0) ^ 1;
    await refused(changed);
    await refused(sealed.subarray(0, sealed.length - 1));
    await refused(await readFile(sealedPath(other)));
    await writeFile(sealedPath(one), sealed);
    const { json } = await api.post(`/api/v1/checkpoints/${one}/restore`);
    expect(json.status).toBe("running");
    for (const sandbox of [id, json.id]) await api.delete(`${path}/${sandbox}`);
    for (const checkpoint of [one, other]) await api.delete(`/api/v1/checkpoints/${checkpoint}`);
  });

  it("is gone on from by one at a time: who comes second is told so, and takes nothing away from the first", async () => {
    const id = await api.create();
    const checkpoint = (await api.post(`${path}/${id}/checkpoints`)).json.id;
    const restore = () => api.post(`/api/v1/checkpoints/${checkpoint}/restore`);
    const answers = await Promise.all([restore(), restore(), restore()]);
    const made = answers.filter(({ status }) => status === 201);
    expect(made.length).toBeGreaterThan(0);
    expect(answers.map(({ status }) => status).filter((status) => status !== 201 && status !== 409)).toEqual([]);
    for (const { json } of made)
      expect((await api.post(`${path}/${json.id}/exec`, { command: "echo well" })).json.stdout).toBe("well\n");
    for (const { json } of made) await api.delete(`${path}/${json.id}`);
    await api.delete(`${path}/${id}`);
    expect((await api.delete(`/api/v1/checkpoints/${checkpoint}`)).status).toBe(204);
  });

  it("[S78] brings no rule back that was taken from its sandbox, and none that its caller may not have", async () => {
    const operator = await server.as("operator");
    const id = await api.create();
    const allow = (rules: string[]) => operator.send("PUT", `${path}/${id}/egress`, { json: { allow: rules } });
    const reached = async (sandbox: string) =>
      (await api.get(`/api/v1/egress/explain?host=api.example.com&port=443&sandbox_id=${sandbox}`)).json.action;
    expect((await allow(["api.example.com"])).status).toBe(200);
    expect(await reached(id)).toBe("allow");
    const checkpoint = (await api.post(`${path}/${id}/checkpoints`)).json.id;
    await allow([]);
    const later = await api.post(`/api/v1/checkpoints/${checkpoint}/restore`);
    expect(later.status).toBe(201);
    expect(await reached(later.json.id)).not.toBe("allow");
    await api.delete(`${path}/${id}`);
    expect((await api.post(`/api/v1/checkpoints/${checkpoint}/restore`)).status).toBe(403);
    const restored = await operator.post(`/api/v1/checkpoints/${checkpoint}/restore`);
    expect(restored.status).toBe(201);
    expect(await reached(restored.json.id)).toBe("allow");
    for (const sandbox of [later.json.id, restored.json.id]) await api.delete(`${path}/${sandbox}`);
    expect((await api.delete(`/api/v1/checkpoints/${checkpoint}`)).status).toBe(204);
  });

  it("is listed in pages, newest first, and by sandbox", async () => {
    const ids = [await api.create(), await api.create()];
    const made: string[] = [];
    for (const id of [...ids, ids[0]]) made.unshift((await api.post(`${path}/${id}/checkpoints`)).json.id);
    const listed: string[] = [];
    for (let url: string | undefined = "/api/v1/checkpoints?limit=2"; url !== undefined; ) {
      const { json, headers }: Awaited<ReturnType<Api["get"]>> = await api.get(url);
      expect(json.length).toBeLessThanOrEqual(2);
      listed.push(...json.map((one: { id: string }) => one.id));
      url = /<([^>]+)>; rel="next"/.exec(headers.get("link") ?? "")?.[1];
    }
    expect(listed).toEqual(made);
    const { json } = await api.get(`/api/v1/checkpoints?sandbox_id=${ids[1]}`);
    expect(json.map((one: { id: string }) => one.id)).toEqual([made[1]]);
    for (const checkpoint of made) await api.delete(`/api/v1/checkpoints/${checkpoint}`);
    for (const id of ids) await api.delete(`${path}/${id}`);
  });

  it("is another namespace's to neither see, restore nor delete", async () => {
    const id = await api.create();
    const checkpoint = (await api.post(`${path}/${id}/checkpoints`)).json.id;
    const stranger = await server.as("agent", "elsewhere");
    expect((await stranger.get("/api/v1/checkpoints")).json).toEqual([]);
    expect((await stranger.get(`/api/v1/checkpoints/${checkpoint}`)).status).toBe(404);
    expect((await stranger.post(`/api/v1/checkpoints/${checkpoint}/restore`)).status).toBe(404);
    expect((await stranger.delete(`/api/v1/checkpoints/${checkpoint}`)).status).toBe(404);
    await api.delete(`${path}/${id}`);
    expect((await api.delete(`/api/v1/checkpoints/${checkpoint}`)).status).toBe(204);
  });
});

it("[LIF-07] there is none of a sandbox whose engine cannot save memory", async () => {
  await using server = await openTestServer("container");
  const api = await server.as("agent");
  const id = await api.create();
  expect((await api.post(`${path}/${id}/checkpoints`)).status).toBe(422);
});

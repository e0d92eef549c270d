import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { engines } from "../harness.ts";
import type { Api } from "../http/api.ts";
import { openTestServer, type TestServer } from "../http/server.ts";

const path = "/api/v1/sandboxes";

describe.each(engines)("[LIF-08] a copy of the files of a sandbox of engine %s", (engine) => {
  let server: TestServer;
  let api: Api;
  beforeAll(async () => {
    server = await openTestServer(engine);
    api = await server.as("agent");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const run = async (id: string, command: string) => {
    const { json } = await api.post(`${path}/${id}/exec`, { command });
    expect(json).toMatchObject({ exit_code: 0 });
    return json.stdout as string;
  };
  const fork = async (id: string, body: object = {}) => {
    const { status, json } = await api.post(`${path}/${id}/fork`, { memory: "never", ...body });
    expect(status).toBe(201);
    expect(json).toMatchObject({ memory: false });
    return { files: json.files as string, ids: json.sandboxes.map((one: { id: string }) => one.id) as string[] };
  };
  const layers = () => readdir(join(server.home, "engine/layers"));
  const end = async (ids: readonly string[]) => {
    for (const id of ids) expect((await api.delete(`${path}/${id}`)).status).toBe(204);
    await vi.waitFor(async () => expect((await layers()).filter((name) => name !== "mounted")).toEqual([]));
  };

  it("lies on those of an idle one, home folder included, and each goes its own way", async () => {
    const id = await api.create({ env: { A: "b" } });
    await run(id, "mkdir a && echo one >a/f && chmod 600 a/f && echo mine >~/kept");
    for (const language of ["python", "node"])
      expect((await api.post(`${path}/${id}/execute_code`, { language, code: "1" })).json).toMatchObject({
        exit_code: 0,
      });
    const { files, ids } = await fork(id, { count: 2 });
    expect(files).toBe("overlay");
    expect((await api.get(`${path}/${id}`)).json).toMatchObject({ status: "running", failure: null });
    for (const [index, one] of [id, ...ids].entries())
      expect(await run(one, `echo ${index} >>a/f; stat -c '%u %a' a/f; cat a/f ~/kept; echo $A`)).toBe(
        `1000 600\none\n${index}\nmine\nb\n`,
      );
    await end([id, ...ids]);
  });

  it("lies on a copy of those of a busy one, whose processes and memory go on", async () => {
    const id = await api.create();
    await run(id, "echo one >f; echo mine >~/kept");
    const started = await api.post(`${path}/${id}/processes`, { command: "read line; echo got $line", stdin: true });
    expect(started.status).toBe(201);
    const { files, ids } = await fork(id);
    expect(files).toBe("copy");
    await run(ids[0] ?? "", "echo two >>f");
    expect(await run(ids[0] ?? "", "cat f ~/kept")).toBe("one\ntwo\nmine\n");
    expect(await run(id, "cat f")).toBe("one\n");
    const process = `${path}/${id}/processes/${started.json.id}`;
    await api.post(`${process}/stdin`, { data: "word\n" });
    await vi.waitFor(async () => expect((await api.get(process)).json).toMatchObject({ state: "exited" }));
    await end([id, ...ids]);
  });

  it.each([
    ["a file in /tmp", "echo here >/tmp/f", "cat /tmp/f"],
    ["a file in /dev/shm", "echo here >/dev/shm/f", "cat /dev/shm/f"],
  ])("takes nothing from one that has %s", async (_, make, look) => {
    const id = await api.create();
    await run(id, make);
    const { files, ids } = await fork(id);
    expect(files).toBe("copy");
    expect(await run(id, look)).toBe("here\n");
    await end([id, ...ids]);
  });

  it("is emptied by a reset, as the original is", async () => {
    const id = await api.create();
    await run(id, "echo one >f");
    const { ids } = await fork(id);
    for (const one of [id, ...ids]) {
      expect((await api.post(`${path}/${one}/reset`)).status).toBe(200);
      expect(await run(one, "ls")).toBe("output\n");
    }
    await end([id, ...ids]);
  });

  it("[LIF-10] has no value of a secret that its code wrote: what a snapshot reads, and the result says so", async () => {
    const operator = await server.as("operator");
    const id = await api.create();
    await operator.put("/api/v1/secrets/WRITTEN_KEY", "value-that-was-written-01");
    const binding = { target: { sandbox_id: id }, deliver: { as: "file" } };
    expect((await operator.post("/api/v1/secrets/WRITTEN_KEY/bindings", binding)).status).toBe(201);
    await run(id, "cat /run/secrets/WRITTEN_KEY | tee ~/kept >f; sync");
    const { json } = await api.post(`${path}/${id}/fork`, { memory: "never" });
    expect(json).toMatchObject({ files: "snapshot", why: expect.stringContaining("secret's value") });
    const copy = json.sandboxes[0].id;
    expect(await run(copy, "grep -rl value-that ~ . || echo none")).toBe("none\n");
    expect(await run(copy, "wc -c <f; ls -A ~")).toBe("25\n");
    expect(await run(id, "wc -c <f; ls -A ~")).toBe("25\nkept\n");
    await operator.delete("/api/v1/secrets/WRITTEN_KEY");
    await end([id, copy]);
  });

  it.runIf(engine === "container")(
    "goes on where its files lie on too many others already: what a snapshot reads",
    async () => {
      const id = await api.create();
      const made: string[] = [];
      const seen: string[] = [];
      await run(id, "echo one >f; echo mine >~/kept");
      while (seen.length < 17) {
        const { files, ids } = await fork(id);
        seen.push(files);
        made.push(...ids);
        if (made.length > 1) await api.delete(`${path}/${made.shift()}`);
      }
      expect(seen).toEqual([...Array(16).fill("overlay"), "snapshot"]);
      expect(await run(made[0] ?? "", "cat f; test -e ~/kept || echo empty")).toBe("one\nempty\n");
      expect(await run(id, "cat f")).toBe("one\n");
      await end([id, ...made]);
    },
  );
});

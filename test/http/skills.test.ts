import { Agent, request } from "node:http";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { Skills } from "../../packages/server/src/sandboxes/skills.ts";
import { engines } from "../harness.ts";
import { noJournal } from "../journal.ts";
import { hostileArchives } from "../sandbox/hostile-archives.ts";
import { archive } from "../sandbox/tar-bytes.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const text = (name: string, description = "looks at data") =>
  `---\nname: ${name}\ndescription: ${description}\n---\n# Use it well\n`;
const skillOf = (name: string, ...more: Parameters<typeof archive>) =>
  archive({ name: "SKILL.md", body: text(name) }, ...more);

describe.each(engines)("skills over REST (%s)", (engine) => {
  let server: TestServer;
  let api: Api;
  beforeAll(async () => {
    server = await openTestServer(engine);
    api = await server.as("agent");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const upload = (body: Uint8Array, as = api) =>
    as.send("POST", "/api/v1/skills", { body, headers: { "content-type": "application/x-tar" } });

  it("[IMG-05] are stored once, installed by id, and a repeated install says so", async () => {
    const bytes = archive(
      { name: "data-analyzer/", type: "5", mode: 0o755 },
      { name: "data-analyzer/SKILL.md", body: text("data-analyzer") },
      { name: "data-analyzer/bin/run", body: "#!/bin/sh\necho analysed", mode: 0o755 },
      { name: "data-analyzer/latest", type: "2", target: "bin/run" },
    );
    const first = await upload(gzipSync(bytes));
    expect(first.status).toBe(201);
    expect(first.json).toMatchObject({ name: "data-analyzer", description: "looks at data", file_count: 2 });
    const again = await upload(bytes);
    expect([again.status, again.json]).toEqual([200, first.json]);

    const at = `/api/v1/sandboxes/${await api.create()}`;
    const install = () => api.post(`${at}/skills`, { skill_ids: [first.json.id] });
    const installed = await install();
    expect(installed.status).toBe(200);
    expect(installed.json).toMatchObject({ installed: ["data-analyzer"], already_installed: [] });
    expect((await install()).json).toMatchObject({ installed: [], already_installed: ["data-analyzer"] });
    const run = (command: string) => api.post(`${at}/exec`, { command });
    expect((await run("/workspace/skills/data-analyzer/latest")).json.stdout).toBe("analysed\n");

    // What it holds counts, not that it was installed once.
    await run("echo more > skills/data-analyzer/notes; rm skills/data-analyzer/bin/run");
    expect((await install()).json.installed).toEqual(["data-analyzer"]);
    expect((await run("cat skills/data-analyzer/notes")).json.stdout).toBe("more\n");
    expect((await install()).json.already_installed).toEqual(["data-analyzer"]);

    expect((await api.get("/api/v1/skills?name=data-analyzer")).json).toEqual([first.json]);
    expect((await api.delete(`/api/v1/skills/${first.json.id}`)).status).toBe(204);
    expect((await api.get(`/api/v1/skills/${first.json.id}`)).status).toBe(404);
    expect((await install()).status).toBe(404);
    expect((await run("/workspace/skills/data-analyzer/latest")).json.stdout).toBe("analysed\n");
    const types = (await server.store.audit.search({})).map(({ type }) => type);
    for (const type of ["skill.created", "skill.installed", "skill.deleted"]) expect(types).toContain(type);
  });

  it("install all or, when one is unknown, none", async () => {
    const { id } = (await upload(skillOf("one"))).json;
    const at = `/api/v1/sandboxes/${await api.create()}`;
    expect((await api.post(`${at}/skills`, { skill_ids: [id, "0".repeat(64)] })).status).toBe(404);
    expect((await api.get(`${at}/files?path=/workspace`)).json).toMatchObject([{ name: "output" }]);
  });

  it("of another namespace do not exist, and what two have is kept until both have deleted it", async () => {
    const stranger = await server.as("agent", "other");
    const { id } = (await upload(skillOf("shared"))).json;
    expect((await stranger.get(`/api/v1/skills/${id}`)).status).toBe(404);
    expect((await stranger.delete(`/api/v1/skills/${id}`)).status).toBe(404);
    const theirs = `/api/v1/sandboxes/${await stranger.create()}`;
    expect((await stranger.post(`${theirs}/skills`, { skill_ids: [id] })).status).toBe(404);
    expect((await upload(skillOf("shared"), stranger)).status).toBe(201);
    expect((await api.delete(`/api/v1/skills/${id}`)).status).toBe(204);
    await server.storage.sweeper.settled();
    expect((await stranger.post(`${theirs}/skills`, { skill_ids: [id] })).json.installed).toEqual(["shared"]);
  });

  it("need a SKILL.md with a name and a description", async () => {
    const refused = async (...parts: Parameters<typeof archive>) => {
      const { status, json } = await upload(archive(...parts));
      expect(status).toBe(400);
      return json.detail as string;
    };
    const md = (body: string) => ({ name: "SKILL.md", body });
    expect(await refused({ name: "README.md", body: "x" })).toMatch(/no SKILL.md/);
    expect(await refused({ name: "a/SKILL.md", body: text("a") }, { name: "b", body: "x" })).toMatch(/no SKILL.md/);
    expect(await refused({ name: "SKILL.md", type: "2", target: "b" }, { name: "b", body: text("a") })).toMatch(
      /no SKILL/,
    );
    for (const name of ["index.json", "Index.JSON", "0a".repeat(32)])
      expect(await refused(md(text(name)))).toMatch(/is reserved/);
    expect(await refused(md("# no front matter"))).toMatch(/front matter/);
    expect(await refused(md("---\nname: [\n---\n"))).toMatch(/not valid YAML/);
    expect(await refused(md("---\n- name\n---\n"))).toMatch(/no fields/);
    for (const name of ["../up", "a/b", ".hidden", "''", "a b", "12", "x".repeat(65)])
      expect(await refused(md(text(name)))).toMatch(/name must/);
    expect(await refused(md(text("a", "''")))).toMatch(/no description/);
    expect(await refused(md(text("a", "x".repeat(1025))))).toMatch(/longer than/);
    expect(await refused(md(`---\na: &a [x, x]\nname: *a\ndescription: d\n---\n`))).toMatch(/refused/);
    expect(await refused({ name: "s/SKILL.md", body: text("s") }, { name: "s/l", type: "2", target: "../x" })).toMatch(
      /out of the folder/,
    );
  });

  it("whose upload is refused midway do not hold up what comes next on the connection", async () => {
    const { port, hostname } = new URL(server.base);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const post = (body: Buffer) =>
      new Promise<number>((resolve, reject) => {
        const headers = { ...api.headers, "content-type": "application/x-tar" };
        const sent = request({ agent, hostname, port, path: "/api/v1/skills", method: "POST", headers }, (response) => {
          response.resume().once("end", () => resolve(response.statusCode ?? 0));
        });
        sent.once("error", reject).end(body);
      });
    const refused = Buffer.concat([archive({ name: "/absolute" }), Buffer.alloc(8 * 1024 ** 2)]);
    expect([await post(refused), await post(skillOf("next"))]).toEqual([400, 201]);
    agent.destroy();
  });

  it.each(hostileArchives.filter(({ limits }) => limits === undefined))(
    "[FIL-04] are refused as $what",
    async ({ bytes, says }) => {
      const { status, json } = await upload(bytes);
      expect([400, 429]).toContain(status);
      expect(json.detail).toMatch(says);
      expect((await api.get("/api/v1/skills")).json.map((row: { name: string }) => row.name)).not.toContain("good");
    },
  );

  it("are neither stored nor deleted when the timeline cannot hold it", async () => {
    const { store, storage, blobs } = server;
    const parts = { blobs, records: store.skills, sweeper: storage.sweeper, clock: systemClock, journal: noJournal };
    const skills = new Skills(parts);
    const caller: Caller = {
      principal: { id: "key", name: "test", namespace: "default", role: "agent" },
      requestId: "request",
    };
    async function* bytes() {
      yield skillOf("unlogged");
    }
    await expect(skills.add(caller, bytes())).rejects.toThrow("no journal");
    expect((await api.get("/api/v1/skills?name=unlogged")).json).toEqual([]);
    const { json: kept } = await upload(skillOf("unlogged"));
    await expect(skills.delete(caller, kept.id)).rejects.toThrow("no journal");
    expect((await api.get(`/api/v1/skills/${kept.id}`)).status).toBe(200);
  });
});

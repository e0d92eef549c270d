import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Caisson } from "../../packages/sdk/src/index.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { openStorage } from "../../packages/server/src/sandboxes/open-storage.ts";
import { engines } from "../harness.ts";
import { archive } from "../sandbox/tar-bytes.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;

describe("garbage collection over REST", () => {
  let server: TestServer;
  let agent: Api;
  let admin: Api;
  beforeAll(async () => {
    server = await openTestServer(engine);
    agent = await server.as("agent");
    admin = await server.as("admin");
    await server.storage.sweeper.settled();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    expect(server.errors).toEqual([]);
  });

  const store = async (name: string) => {
    const text = `---\nname: ${name}\ndescription: does it\n---\n`;
    const body = archive({ name: "SKILL.md", body: text }, { name: "data", body: name.repeat(1_000) });
    const headers = { "content-type": "application/x-tar" };
    return (await agent.send("POST", "/api/v1/skills", { body, headers })).json;
  };
  const collect = async (body?: object) => (await admin.post("/api/v1/gc", body)).json;

  it("is for administrators, and tells what would go before it does", async () => {
    for (const role of ["viewer", "agent", "operator"] as const)
      expect((await (await server.as(role)).post("/api/v1/gc", {})).status).toBe(403);
    const [kept, gone] = [await store("kept"), await store("gone")];
    expect((await collect({ dry_run: true })).freed_items).toBe(0);
    await server.store.skills.delete("default", gone.id); // as a daemon does that is killed before it sweeps
    const dry = await collect({ dry_run: true });
    expect(dry).toMatchObject({
      dry_run: true,
      trigger: "asked",
      kinds: [{ kind: "blobs", over_budget: false }, { kind: "images" }, { kind: "checkpoints" }, { kind: "layers" }],
    });
    expect(dry.freed_items).toBeGreaterThanOrEqual(3);
    const done = await collect();
    expect([done.freed_items, done.freed_bytes]).toEqual([dry.freed_items, dry.freed_bytes]);
    expect(done.freed_bytes).toBeGreaterThan(0);
    expect((await collect()).freed_items).toBe(0);
    const caisson = new Caisson({ url: server.base, key: agent.headers["x-api-key"] ?? "" });
    expect(await new Response(await caisson.skills.read(kept.id, "data")).text()).toBe("kept".repeat(1_000));
    const rows = await server.store.audit.search({ type: "gc.completed" });
    expect(rows.map(({ detail }) => detail.freed_items)).toContain(done.freed_items);
    await server.store.skills.delete("default", kept.id);
    await collect();
  });

  it("takes artifacts whose time is over, and no others", async () => {
    const of = async (text: string) => {
      const id = await agent.create({ keep_artifacts_seconds: 600 });
      await agent.put(`/api/v1/sandboxes/${id}/files/output/file`, text.repeat(1_000));
      await agent.delete(`/api/v1/sandboxes/${id}`);
      return id;
    };
    const [over, kept] = [await of("over"), await of("kept")];
    const record = await server.store.artifacts.get(kept);
    if (record === undefined) throw new Error("nothing was kept");
    await server.store.artifacts.put({ ...record, expiresAtMs: record.expiresAtMs + 3_600_000 });
    const { blobs, store, journal } = server;
    const { snapshots, skills, artifacts } = store;
    const clock = { ...systemClock, wallMs: () => record.expiresAtMs + 1_800_000 };
    const onError = (error: unknown) => void server.errors.push(error);
    const later = openStorage({
      blobs,
      snapshots,
      skills,
      artifacts,
      journal,
      clock,
      onError,
    });
    await later.sweeper.settled();
    const { unused } = await later.collector.look();
    expect(unused.items).toBeGreaterThan(0);
    expect(await store.artifacts.get(over)).toBeDefined();
    expect(await later.collector.collect(0)).toEqual(unused);
    expect(await store.artifacts.get(over)).toBeUndefined();
    expect((await agent.get(`/api/v1/artifacts/${kept}/content/file`)).bytes.toString()).toBe("kept".repeat(1_000));
  });

  it("[S77] leaves an artifact whose time is over while it is read, until it was", async () => {
    const { storage } = server;
    const id = await agent.create({ keep_artifacts_seconds: 600 });
    const text = "slow".repeat(1_000_000);
    await agent.put(`/api/v1/sandboxes/${id}/files/output/file`, text);
    await agent.delete(`/api/v1/sandboxes/${id}`);
    const principal = { id: "key", name: "test", namespace: "default", role: "agent" } as const;
    const { bytes } = await storage.artifacts.read({ principal, requestId: "r" }, id, "file");
    const pieces = bytes[Symbol.asyncIterator]();
    const read: Buffer[] = [(await pieces.next()).value];
    const record = await server.store.artifacts.get(id);
    if (record === undefined) throw new Error("nothing was kept");
    await server.store.artifacts.put({ ...record, expiresAtMs: Date.now() });
    await collect();
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) read.push(next.value);
    expect(Buffer.concat(read).toString() === text).toBe(true);
    expect(await server.store.artifacts.get(id)).toBeDefined();
    await collect();
    expect(await server.store.artifacts.get(id)).toBeUndefined();
  });

  it("[S77] runs beside uploads and installs, and nothing of theirs is missing", async () => {
    const at = `/api/v1/sandboxes/${await agent.create()}`;
    let collecting = true;
    const collections = (async () => {
      while (collecting) await collect();
    })();
    for (let round = 0; round < 5; round++) {
      const { id } = await store(`round-${round}`);
      const installed = await agent.post(`${at}/skills`, { skill_ids: [id] });
      expect(installed.json.installed).toEqual([`round-${round}`]);
      expect((await agent.delete(`/api/v1/skills/${id}`)).status).toBe(204);
    }
    collecting = false;
    await collections;
  });

  it("[S77] a skill cannot be deleted while it is read", async () => {
    const { id } = await store("read");
    const principal = { id: "key", name: "test", namespace: "default", role: "agent" } as const;
    const { bytes } = await server.storage.skills.read({ principal, requestId: "r" }, "read", "data");
    const pieces = bytes[Symbol.asyncIterator]();
    await pieces.next();
    expect((await agent.delete(`/api/v1/skills/${id}`)).status).toBe(409);
    await pieces.return?.();
    expect((await agent.delete(`/api/v1/skills/${id}`)).status).toBe(204);
  });
});

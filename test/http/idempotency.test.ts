import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

const root = "/api/v1/sandboxes";

/** What each route that takes the header is sent, then something else with the same key, and where what it makes is listed. */
const tries: Readonly<Record<string, { asked: object; other: object; listed: string }>> = {
  [`POST ${root}`]: { asked: { labels: { n: "1" } }, other: { labels: { n: "2" } }, listed: root },
  [`POST ${root}/{id}/processes`]: {
    asked: { command: "sleep 1000" },
    other: { command: "sleep 1001" },
    listed: `${root}/{id}/processes`,
  },
  [`POST ${root}/{id}/contexts`]: {
    asked: { language: "python" },
    other: { language: "python", cwd: "/tmp" },
    listed: `${root}/{id}/contexts`,
  },
  [`POST ${root}/{id}/snapshots`]: {
    asked: { description: "one" },
    other: { description: "another" },
    listed: `${root}/{id}/snapshots`,
  },
  [`POST ${root}/{id}/fork`]: {
    asked: { count: 1, memory: "never" },
    other: { count: 2, memory: "never" },
    listed: root,
  },
  [`POST ${root}/{id}/checkpoints`]: {
    asked: { name: "one" },
    other: { name: "another" },
    listed: "/api/v1/checkpoints",
  },
};

describe("[API-03] the Idempotency-Key", () => {
  let server: TestServer;
  let api: Api;
  let id: string;
  beforeAll(async () => {
    server = await openTestServer("gvisor"); // which has checkpoints
    api = await server.as("agent");
    id = await api.create();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("is taken by the routes that are tried here, and by no other", () => {
    const taking = server.routes.filter(({ idempotent }) => idempotent).map(({ method, path }) => `${method} ${path}`);
    expect(taking.sort()).toEqual(Object.keys(tries).sort());
  });

  it.each(Object.keys(tries))("makes one of two requests to %s, and refuses a third that is another", async (name) => {
    const { asked, other, listed } = tries[name] as (typeof tries)[string];
    const path = name.replace("POST ", "").replace("{id}", id);
    const headers = { "idempotency-key": "the-same" };
    const count = async () => (await api.get(listed.replace("{id}", id))).json.length;
    const before = await count();
    const both = await Promise.all([api.post(path, asked, { headers }), api.post(path, asked, { headers })]);
    expect(both.map(({ status }) => status)).toEqual([201, 201]);
    expect(both[0]?.json).toEqual(both[1]?.json);
    const again = await api.post(path, asked, { headers });
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
    expect(again.json).toEqual(both[0]?.json);
    const refused = await api.post(path, other, { headers });
    expect([refused.status, refused.json.code]).toEqual([422, "conflict"]);
    expect(await count()).toBe(before + 1);
  });
});

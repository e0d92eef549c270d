import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Caisson } from "../../packages/sdk/src/index.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

describe("kept artifacts over HTTP", () => {
  let server: TestServer;
  let api: Api;
  beforeAll(async () => {
    server = await openTestServer("container");
    api = await server.as("agent");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const destroyed = async (text: string): Promise<string> => {
    const id = await api.create({ keep_artifacts_seconds: 600 });
    await api.put(`/api/v1/sandboxes/${id}/files/output/deep/page.html`, text);
    expect((await api.delete(`/api/v1/sandboxes/${id}`)).status).toBe(204);
    return id;
  };

  it("[LIF-13] are listed, read and deleted by their own namespace, as files of a sandbox always are", async () => {
    const page = "<script>alert(1)</script>";
    const id = await destroyed(page);
    const { json: list } = await api.get("/api/v1/artifacts");
    expect(list).toMatchObject([{ sandbox_id: id, file_count: 1, total_size: page.length }]);
    const { json: files } = await api.get(`/api/v1/artifacts/${id}`);
    expect(files).toMatchObject([{ path: "deep/page.html", size_bytes: page.length }]);
    const { headers, bytes } = await api.get(`/api/v1/artifacts/${id}/content/deep/page.html`);
    expect(bytes.toString()).toBe(page);
    expect(headers.get("content-type")).toBe("application/octet-stream");
    expect(headers.get("content-disposition")).toMatch(/^attachment; filename="page.html"/);
    expect(headers.get("content-security-policy")).toMatch(/^sandbox;/);

    const stranger = await server.as("operator", "elsewhere");
    expect((await stranger.get("/api/v1/artifacts")).json).toEqual([]);
    for (const path of [`${id}`, `${id}/content/deep/page.html`])
      expect((await stranger.get(`/api/v1/artifacts/${path}`)).status, path).toBe(404);
    expect((await stranger.delete(`/api/v1/artifacts/${id}`)).status).toBe(404);
    const viewer = await server.as("viewer");
    expect((await viewer.get(`/api/v1/artifacts/${id}`)).status).toBe(200);
    expect((await viewer.delete(`/api/v1/artifacts/${id}`)).status).toBe(403);
    expect((await api.get(`/api/v1/artifacts/${id}/content/nothing`)).status).toBe(404);
    expect((await api.delete(`/api/v1/artifacts/${id}`)).status).toBe(204);
    expect((await api.get(`/api/v1/artifacts/${id}`)).status).toBe(404);
  });

  it("[LIF-13] come page by page, and by the SDK", async () => {
    const ids = [await destroyed("one"), await destroyed("two")].reverse();
    const first = await api.get("/api/v1/artifacts?limit=1");
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
    const second = await api.get(next);
    expect([...first.json, ...second.json].map(({ sandbox_id }) => sandbox_id)).toEqual(ids);
    const caisson = new Caisson({ url: server.base, key: api.headers["x-api-key"] ?? "" });
    expect((await caisson.artifacts.list()).map(({ sandbox_id }) => sandbox_id)).toEqual(ids);
    const [id = ""] = ids;
    expect(await caisson.artifacts.files(id)).toMatchObject([{ path: "deep/page.html" }]);
    expect(await new Response(await caisson.artifacts.read(id, "deep/page.html")).text()).toBe("two");
    for (const one of ids) await caisson.artifacts.delete(one);
    expect(await caisson.artifacts.list()).toEqual([]);
  });

  it("names the cap of a time that is too long", async () => {
    const { status, json } = await api.post("/api/v1/sandboxes", { keep_artifacts_seconds: 1e9 }, { bad: true });
    expect(status).toBe(400);
    expect(json.detail).toContain("2592000");
  });
});

import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "./server.ts";

/** No request here reaches a sandbox: one engine is enough. */
const [engine = "container"] = engines;
const publicUrl = "https://caisson.example.com";

const statusOf = (server: TestServer, headers: Record<string, string>) =>
  new Promise<number | undefined>((resolve, reject) => {
    request(`${server.base}/healthz`, { headers }, (response) => resolve(response.resume().statusCode))
      .on("error", reject)
      .end();
  });

/** Headers of a proxy that passes on a request to `name` over HTTPS. */
const forwarded = (name: string) => ({
  "x-forwarded-for": "203.0.113.7",
  "x-forwarded-proto": "https",
  "x-forwarded-host": name,
  origin: `https://${name}`,
});

describe("a server behind a proxy", () => {
  let stranger: TestServer;
  let trusting: TestServer;
  beforeAll(async () => {
    stranger = await openTestServer(engine, {
      hosts: ["other.example.com"],
      trustedProxies: ["10.0.0.0/8"],
      publicUrl,
    });
    trusting = await openTestServer(engine, { hosts: ["other.example.com"], trustedProxies: ["127.0.0.1"], publicUrl });
  });
  afterAll(async () => {
    await stranger[Symbol.asyncDispose]();
    await trusting[Symbol.asyncDispose]();
  });

  it("[S111] learns scheme and host name from a trusted proxy, and from nobody else", async () => {
    expect(await statusOf(trusting, forwarded("other.example.com"))).toBe(200);
    expect(await statusOf(stranger, forwarded("other.example.com"))).toBe(403);
    const named = { host: "other.example.com", origin: "https://other.example.com" };
    expect(await statusOf(trusting, { ...named, "x-forwarded-proto": "https" })).toBe(200);
    expect(await statusOf(stranger, { ...named, "x-forwarded-proto": "https" })).toBe(403);
    expect(await statusOf(stranger, { ...named, origin: "http://other.example.com" })).toBe(200);
  });

  it("[S111] takes the value that the nearest proxy wrote, and none of Forwarded", async () => {
    const named = { host: "other.example.com", origin: "https://other.example.com" };
    expect(await statusOf(trusting, { ...named, "x-forwarded-proto": "https, http" })).toBe(403);
    expect(await statusOf(trusting, { ...named, "x-forwarded-proto": "http, HTTPS" })).toBe(200);
    expect(await statusOf(trusting, { ...named, forwarded: "proto=https;host=other.example.com" })).toBe(403);
  });

  it("[S111] refuses a request if any name in it is unknown, so that a page of another name cannot pass for a proxy's", async () => {
    expect(await statusOf(trusting, forwarded("evil.example"))).toBe(403);
    expect(await statusOf(trusting, { host: "evil.example", "x-forwarded-host": "localhost" })).toBe(403);
    expect(await statusOf(trusting, { host: "localhost", "x-forwarded-host": "localhost" })).toBe(200);
  });

  it("is known by the name in public_url, and its pages may call it", async () => {
    const { host } = new URL(publicUrl);
    expect(await statusOf(stranger, { host, origin: publicUrl })).toBe(200);
    expect(await statusOf(stranger, { host, origin: "https://caisson.example.com:8443" })).toBe(403);
    expect(await statusOf(stranger, { origin: publicUrl })).toBe(200);
  });

  it("starts signed URLs, the server of openapi.json and the examples of /docs with public_url", async () => {
    const api = await stranger.as("agent");
    const id = await api.create();
    const { json } = await api.post(`/api/v1/sandboxes/${id}/signed-urls`, { method: "GET", path: "a" });
    expect(json.url).toMatch(/^https:\/\/caisson\.example\.com\/api\/v1\/signed\//);
    expect((await stranger.anonymous.get("/openapi.json")).json.servers).toEqual([{ url: publicUrl }]);
    expect((await stranger.anonymous.get("/docs")).bytes.toString()).toContain(`URL=${publicUrl} KEY=`);
  });
});

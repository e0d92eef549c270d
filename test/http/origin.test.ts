import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import type { Api } from "./api.ts";
import { openTestServer, type TestServer } from "./server.ts";

/** Media types whose bytes a browser shows or saves, and never runs. */
const inert = [
  "text/plain",
  "application/json",
  "application/problem+json",
  "application/octet-stream",
  "application/x-ndjson",
  "text/event-stream",
];
/** The pages of this server: nothing in them comes from a sandbox. */
const pages = ["/docs", "/docs/style.css", "/setup"];
/** Answers of programs, of any type: what becomes of them in a browser is shown in ports-browser.test.ts. */
const ofPrograms = "/api/v1/sandboxes/{id}/ports/{port}/{path}";

const page = "<!doctype html><script>document.title='ran'</script><svg onload=alert(1)>";

describe.each(engines)("bytes of a sandbox in a browser (%s)", (engine) => {
  let server: TestServer;
  let api: Api;
  let at: string;
  beforeAll(async () => {
    server = await openTestServer(engine);
    api = await server.as("agent");
    at = `/api/v1/sandboxes/${await api.create()}`;
    await api.put(`${at}/files/output/page.html`, page);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("[IDN-07] come from no route as something that a browser would run", () => {
    const { paths, components } = server.judge.document;
    const answers = Object.entries(paths)
      .filter(([path]) => !pages.includes(path) && path !== ofPrograms)
      .flatMap(([path, operations]) => Object.values(operations).map(({ responses }) => ({ path, responses })));
    for (const { path, responses } of answers)
      for (const { $ref, content } of Object.values(responses)) {
        const shared = components.responses[$ref?.split("/").at(-1) ?? ""]?.content;
        for (const media of Object.keys(content ?? shared ?? {})) expect(inert, path).toContain(media);
      }
  });

  it("[IDN-07] run nothing on this origin, from wherever they come", async () => {
    const { json: process } = await api.post(`${at}/processes`, { command: "cat output/page.html" });
    const { url } = (await api.post(`${at}/signed-urls`, { method: "GET", path: "output/page.html" })).json;
    const accept = (type: string) => ({ headers: { accept: type } });
    const run = { command: "cat output/page.html; mv nowhere '<script>alert(1)</script>'" };
    const asked: [string, string, Parameters<Api["open"]>[2]][] = [
      ["GET", `${at}/files/output/page.html`, accept("text/html")],
      ["GET", `${at}/files/output/page.html`, { headers: { range: "bytes=0-20", accept: "text/html" } }],
      ["HEAD", `${at}/files/output/page.html`, {}],
      ["GET", url, accept("text/html")],
      ["GET", `${at}/archive`, accept("text/html")],
      ["GET", `${at}/artifacts/content/page.html`, accept("text/html")],
      ["GET", `${at}/artifacts`, accept("text/html")],
      ["GET", `${at}/files?path=output`, accept("text/html")],
      ["GET", `${at}/search?text=script`, accept("text/html")],
      ["GET", `${at}/processes/${process.id}/output`, accept("text/html")],
      ["GET", `${at}/processes/${process.id}/output?follow=true`, accept("text/event-stream")],
      ["POST", `${at}/exec`, { json: run, headers: { accept: "text/html" } }],
      ["POST", `${at}/exec`, { json: { ...run, stream: true }, headers: { accept: "text/html" } }],
      ["GET", `${at}/files/%3Cscript%3E.html`, accept("text/html")],
    ];
    let seen = 0;
    for (const [method, path, sent] of asked) {
      const { headers, bytes } = await api.send(method, path, { ...sent, bad: true });
      const about = `${method} ${path}`;
      if (bytes.includes("script")) seen++;
      expect(inert, about).toContain(headers.get("content-type")?.split(";")[0]);
      expect(headers.get("x-content-type-options"), about).toBe("nosniff");
      expect(headers.get("content-security-policy"), about).toMatch(/default-src 'none'/);
      expect(headers.get("content-security-policy"), about).not.toMatch(/script-src|unsafe/);
      expect(headers.get("x-frame-options"), about).toBe("DENY");
      expect(headers.get("cross-origin-resource-policy"), about).toBe("same-origin");
      expect(headers.get("set-cookie"), about).toBeNull();
      if (headers.get("content-type") !== "application/octet-stream") continue;
      expect(headers.get("content-disposition"), about).toMatch(/^attachment/);
      expect(headers.get("content-security-policy"), about).toMatch(/^sandbox;/);
    }
    expect(seen).toBeGreaterThanOrEqual(8);
  });

  it("[IDN-07] cannot write a header by the name of a file", async () => {
    const names = [
      "a\r\nset-cookie: x=1",
      'q".html',
      "é.html",
      "\u202etxt.html",
      "a;b",
      "a'b(c)*",
      `${"n".repeat(200)}`,
      "\\",
    ];
    for (const name of names) {
      const path = `${at}/files/${encodeURIComponent(name)}`;
      expect((await api.put(path, page)).status, name).toBe(204);
      const { status, headers } = await api.get(path);
      expect(status, name).toBe(200);
      expect(headers.get("set-cookie"), name).toBeNull();
      const given = headers.get("content-disposition") ?? "";
      const encoded = /^attachment; filename="[\w.-]+"; filename\*=UTF-8''([\w.%!~-]+)$/.exec(given)?.[1];
      expect(decodeURIComponent(encoded ?? ""), name).toBe(name);
    }
  });
});

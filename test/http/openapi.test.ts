import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { z } from "zod";
import { lowestRole } from "../../packages/server/src/core/scope.ts";
import { tools } from "../../packages/server/src/tools/tools.ts";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;

interface ResponseObject {
  properties: { result: { $ref?: string } };
}

describe("[API-01] the OpenAPI document", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engine);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it("is valid OpenAPI 3.1", async () => {
    expect(server.judge.document.openapi).toBe("3.1.0");
    const { valid, errors } = await new Validator().validate(server.judge.document as never);
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
  });

  it("holds every route, and the page shows every one of them", async () => {
    const { paths } = server.judge.document;
    const listed = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const shown = server.routes.flatMap((route) => route.shownAs ?? [route]);
    expect(listed.sort()).toEqual(shown.map(({ method, path }) => `${method} ${path}`).sort());
    const page = await (await fetch(`${server.base}/docs`)).text();
    for (const { path } of shown) expect(page).toContain(`<code>${path}</code>`);
  });

  it("has a path for each tool, with the schema that the tool checks its input by and that of its result", () => {
    const { paths, components } = server.judge.document;
    const { schemas } = components;
    expect(paths["/api/v1/tools/{name}"]).toBeUndefined();
    for (const { name, input, output, scope } of tools) {
      const { requestBody, responses, ...rest } = paths[`/api/v1/tools/${name}`]?.post ?? {};
      const fields = requestBody?.content["application/json"]?.schema?.properties ?? {};
      expect(Object.keys(fields).sort(), name).toEqual(Object.keys((input as unknown as z.ZodObject).shape).sort());
      const answer = responses?.[200]?.content?.["application/json"]?.schema ?? {};
      const { result } = (answer as unknown as ResponseObject).properties;
      const { properties } = (schemas[result.$ref?.split("/").at(-1) ?? ""] ?? result) as { properties: object };
      const shape = (output as unknown as z.ZodObject).shape;
      expect(Object.keys(properties).sort(), name).toEqual(Object.keys(shape).sort());
      expect(rest).toMatchObject({ "x-role": lowestRole(scope) });
    }
  });

  it("gives each operation a name of its own", () => {
    const names = Object.values(server.judge.document.paths).flatMap((methods) =>
      Object.values(methods as Record<string, { operationId?: string }>).map(({ operationId }) => operationId),
    );
    expect(new Set(names).size).toBe(names.length);
  });

  it("[API-04] says of every stream what its messages are, one schema a type", () => {
    const { paths, components } = server.judge.document;
    const streams = Object.entries(paths).flatMap(([path, methods]) =>
      Object.values(methods).flatMap(({ responses }) => {
        const { "text/event-stream": sse, "application/x-ndjson": lines } = responses[200]?.content ?? {};
        return sse === undefined || lines === undefined ? [] : [{ path, sse, lines }];
      }),
    );
    expect(streams.length).toBeGreaterThan(6);
    for (const { path, sse, lines } of streams) {
      const event = sse.schema as { properties: { data: { contentSchema: { $ref: string } } } };
      const reference = event.properties.data.contentSchema.$ref;
      expect(JSON.stringify(lines.schema?.oneOf), path).toContain(reference);
      const { oneOf = [], discriminator } = components.schemas[reference.split("/").at(-1) ?? ""] as {
        oneOf?: { $ref: string }[];
        discriminator: { mapping: Record<string, string> };
      };
      expect(new Set(Object.values(discriminator.mapping)), path).toEqual(new Set(oneOf.map(({ $ref }) => $ref)));
      expect(Object.keys(discriminator.mapping)).toContain("error");
    }
  });

  it("has the bounds of numbers that the server holds requests to, and the types of flags and headers", async () => {
    const api = await server.as("agent");
    const { json: limits } = await api.get("/api/v1/limits");
    const { paths, components } = server.judge.document;
    const { properties } = components.schemas.CreateSandbox as { properties: Record<string, object> };
    for (const [field, name, unit] of [
      ["memory_mb", "memory_bytes", 1024 ** 2],
      ["storage_mb", "storage_bytes", 1024 ** 2],
      ["cpu_shares", "cpu_shares", 1],
      ["max_processes", "processes", 1],
    ] as const) {
      const { min, max } = limits[name];
      expect(properties[field], field).toMatchObject({ minimum: min / unit, maximum: max / unit });
      const past = { [field]: max / unit + 1 };
      expect((await api.post("/api/v1/sandboxes", past, { bad: true })).status, field).toBe(400);
    }
    const listing = paths["/api/v1/sandboxes/{id}/files"]?.get?.parameters ?? [];
    const shown = (name: string) => listing.find((one) => one.name === name)?.schema;
    expect(shown("recursive")).toEqual({ type: "boolean" });
    expect(shown("X-Caisson-Priority")).toMatchObject({ type: "integer", minimum: -100, maximum: 100 });
    for (const flag of ["1", "yes", "True", ""])
      expect((await api.get(`/api/v1/sandboxes/x/files?recursive=${flag}`)).status, flag).toBe(400);
    expect((await api.get("/api/v1/sandboxes/x/files?recursive=true")).status).toBe(404);
    for (const headers of [{ "x-caisson-priority": "101" }, { "x-caisson-priority": "" }])
      expect((await api.get("/api/v1/sandboxes", { headers })).status).toBe(400);
  });

  it.each([
    ["exec", { command: "" }],
    ["exec", { command: [] }],
    ["exec", { command: ["", "x"] }],
    ["packages", { manager: "pip", packages: [] }],
    ["packages", { manager: "pip", packages: ["a"], lockfile: "requirements.txt" }],
    ["packages", { manager: "npm", packages: ["../a"] }],
  ])("does not promise what the server refuses: %s of %j", async (verb, body) => {
    const api = await server.as("agent");
    await expect(api.post(`/api/v1/sandboxes/x/${verb}`, body)).rejects.toThrow("requestBody");
    expect((await api.post(`/api/v1/sandboxes/x/${verb}`, body, { bad: true })).status).toBe(400);
  });

  it("[MCP-01] says that /mcp takes messages of JSON-RPC 2.0", async () => {
    const api = await server.as("agent");
    for (const body of [
      {},
      [],
      "x",
      { jsonrpc: "1.0", id: 1, method: "ping" },
      { jsonrpc: "2.0", id: {}, method: "ping" },
    ]) {
      await expect(api.post("/mcp", body)).rejects.toThrow("requestBody");
      const { status, json } = await api.post("/mcp", body, { bad: true });
      expect([status, json.error.code]).toEqual([400, -32_600]);
    }
  });

  it("names the paths of the seed", () => {
    const { paths } = server.judge.document;
    for (const [path, method, status] of [
      ["/api/v1/sandboxes", "post", "201"],
      ["/api/v1/sandboxes/{id}/exec", "post", "200"],
      ["/api/v1/sandboxes/{id}/files/{path}", "put", "204"],
      ["/api/v1/sandboxes/{id}/files", "get", "200"],
    ] as const)
      expect(paths[path]?.[method]?.responses[status], path).toBeDefined();
  });
});

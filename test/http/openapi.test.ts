import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "./server.ts";

const [engine = "container"] = engines;

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
    expect(listed.sort()).toEqual(server.routes.map(({ method, path }) => `${method} ${path}`).sort());
    const page = await (await fetch(`${server.base}/docs`)).text();
    for (const { path } of server.routes) expect(page).toContain(`<code>${path}</code>`);
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
      const reference = String(sse.schema?.$ref);
      expect(JSON.stringify(lines.schema?.oneOf), path).toContain(reference);
      const { oneOf = [], discriminator } = components.schemas[reference.split("/").at(-1) ?? ""] as {
        oneOf?: { $ref: string }[];
        discriminator: { mapping: Record<string, string> };
      };
      expect(new Set(Object.values(discriminator.mapping)), path).toEqual(new Set(oneOf.map(({ $ref }) => $ref)));
      expect(Object.keys(discriminator.mapping)).toContain("error");
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

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mcpRoutes } from "../../packages/server/src/http/mcp.ts";
import { engines } from "../harness.ts";
import { openTestServer, type TestServer } from "../http/server.ts";
import { type Era, eras } from "./client.ts";
import { suiteEndpoint } from "./conformance/endpoint.ts";
import { runSuite } from "./conformance/suite.ts";

const [engine = "container"] = engines;

/** Scenarios that call nothing of the suite's own. */
const withoutFixture: Record<Era, readonly string[]> = {
  "2025-11-25": [
    ...["server-initialize", "ping", "logging-set-level", "tools-list", "server-sse-multiple-streams"],
    ...["dns-rebinding-protection", "server-session-lifecycle"],
  ],
  "2026-07-28": [
    ...["server-stateless", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection"],
    ...["http-header-validation", "sep-2164-resource-not-found", "input-required-result-unsupported-methods"],
  ],
};

describe("the official conformance suite", () => {
  let server: TestServer;
  beforeAll(async () => {
    const endpoint = suiteEndpoint((error) => void server.errors.push(error));
    server = await openTestServer(engine, { routes: mcpRoutes(endpoint) });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it.each(eras)(
    "[MCP-10] passes in all that %s requires of a server that has its fixture",
    async (era) => {
      // The suite waits for some things by its own clock, which a loaded machine may miss.
      const first = await runSuite(server, era);
      const { passed, report } = first.passed ? first : await runSuite(server, era);
      expect(passed, report).toBe(true);
      expect(server.errors).toEqual([]);
    },
    240_000,
  );
});

describe("the official conformance suite at the product's own /mcp", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openTestServer(engine);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it.each(eras)(
    "passes in the scenarios of %s that take no fixture",
    async (era) => {
      const run = async () => {
        const { failures } = await runSuite(server, era);
        const testable = (name: string) => failures.get(name)?.filter((told) => !/^[\w-]+: Not testable: /.test(told));
        return withoutFixture[era].map((name) => ({ name, failed: testable(name) }));
      };
      const first = await run();
      const found = first.every(({ failed }) => failed?.length === 0) ? first : await run();
      expect(found).toEqual(withoutFixture[era].map((name) => ({ name, failed: [] })));
      expect(server.errors).toEqual([]);
    },
    240_000,
  );
});

import { once } from "node:events";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { mcpRoutes } from "../../packages/server/src/http/mcp.ts";
import { engines, soak } from "../harness.ts";
import { openTestServer } from "../http/server.ts";
import { eras } from "../mcp/client.ts";
import { suiteEndpoint } from "../mcp/conformance/endpoint.ts";
import { runSuite } from "../mcp/conformance/suite.ts";
import { openKeyedDoor } from "../mcp/keyed-door.ts";
import { openGateway } from "./fixture.ts";
import { hosted } from "./test-pool.ts";

/** A server that has the suite's fixture, on a port that takes no key. */
async function openFixture() {
  const endpoint = suiteEndpoint(() => undefined);
  const server = await openTestServer(engines[0] ?? "container", { routes: mcpRoutes(endpoint) });
  const { token } = await server.keyring.issue({ name: "fixture", namespace: "default", role: "agent" });
  const door = await openKeyedDoor(server.base, token);
  return {
    port: Number(new URL(door.url).port),
    [Symbol.asyncDispose]: async () => {
      await door[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

it.runIf(soak).each(eras)(
  "[MCP-10] the official conformance suite passes through the gateway in all that %s requires (in a soak)",
  async (era) => {
    await using fixture = await openFixture();
    const { port } = fixture;
    const dial = async () => {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      return socket;
    };
    const carrier = { kind: "http", host: `127.0.0.1:${port}`, dial } as const;
    const of = hosted(era === "2025-11-25" ? "legacy" : "modern", "http", async () => ({
      carrier,
      stop: () => undefined,
    }));
    await using at = await openGateway([of]);
    const { passed, report } = await runSuite(at.server, era, `/sandbox/${of.id}/mcp`);
    expect(passed, report).toBe(true);
    expect(at.server.errors).toEqual([]);
  },
);

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { createRequestStateCodec } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { mcpRoutes } from "../../packages/server/src/http/mcp.ts";
import { McpEndpoint } from "../../packages/server/src/mcp/endpoint.ts";
import { Changes } from "../../packages/server/src/mcp-protocol/changes.ts";
import { engines, soak } from "../harness.ts";
import { openTestServer } from "../http/server.ts";
import { eras } from "../mcp/client.ts";
import { fixturePushes } from "../mcp/conformance/pushes.ts";
import { fixtureQuestions } from "../mcp/conformance/questions.ts";
import { fixturePrompts, fixtureResources } from "../mcp/conformance/resources.ts";
import { runSuite } from "../mcp/conformance/suite.ts";
import { fixtureTools } from "../mcp/conformance/tools.ts";
import { openKeyedDoor } from "../mcp/keyed-door.ts";
import { openGateway } from "./fixture.ts";
import { hosted } from "./test-pool.ts";

/** A server that has the suite's fixture, on a port that takes no key. */
async function openFixture() {
  const changes = new Changes();
  const seal = createRequestStateCodec({ key: randomBytes(32) });
  const endpoint = new McpEndpoint({
    version: "0.0.0",
    offers: [fixtureTools(changes), fixtureQuestions(seal), fixturePushes, fixtureResources, fixturePrompts],
    verify: seal.verify,
    changes,
    follow: async () => () => undefined,
    sets: ["core"],
    endSession: async () => undefined,
    onError: () => undefined,
  });
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

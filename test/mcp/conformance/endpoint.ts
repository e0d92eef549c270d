import { randomBytes } from "node:crypto";
import { createRequestStateCodec } from "@modelcontextprotocol/server";
import { McpEndpoint } from "../../../packages/server/src/mcp/endpoint.ts";
import { Changes } from "../../../packages/server/src/mcp-protocol/changes.ts";
import { fixturePushes } from "./pushes.ts";
import { fixtureQuestions } from "./questions.ts";
import { fixturePrompts, fixtureResources } from "./resources.ts";
import { fixtureTools } from "./tools.ts";

/** An endpoint that has the fixture of the official suite. */
export function suiteEndpoint(onError: (error: unknown) => void): McpEndpoint {
  const changes = new Changes();
  const seal = createRequestStateCodec({ key: randomBytes(32) });
  return new McpEndpoint({
    version: "0.0.0",
    offers: [fixtureTools(changes), fixtureQuestions(seal), fixturePushes, fixtureResources, fixturePrompts],
    verify: seal.verify,
    changes,
    follow: async () => () => undefined,
    sets: ["core"],
    endSession: async () => undefined,
    onError,
  });
}

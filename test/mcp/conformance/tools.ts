import { setTimeout as wait } from "node:timers/promises";
import { fromJsonSchema, type ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Offer } from "../../../packages/server/src/mcp/server.ts";
import type { Changes } from "../../../packages/server/src/mcp-protocol/changes.ts";
import { image, resource, text, wav } from "./content.ts";

const stepMs = 20;

/** Keywords of JSON Schema 2020-12 that a server must not lose. */
const schema2020 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object" as const,
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

async function tellProgress({ mcpReq }: ServerContext): Promise<void> {
  const progressToken = mcpReq._meta?.progressToken;
  for (const progress of [0, 50, 100]) {
    if (progressToken !== undefined)
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
    await wait(stepMs);
  }
}

async function log({ mcpReq }: ServerContext): Promise<void> {
  for (const line of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
    await mcpReq.log("info", line);
    await wait(stepMs);
  }
}

/** The tools that the suite's scenarios call. */
export function fixtureTools(changes: Changes): Offer {
  const simple: Record<string, (context: ServerContext) => unknown> = {
    test_simple_text: () => [text("This is a simple text response for testing.")],
    test_image_content: () => [image],
    test_audio_content: () => [{ type: "audio", data: wav, mimeType: "audio/wav" }],
    test_embedded_resource: () => [
      resource("test://embedded-resource", "text/plain", "This is an embedded resource content."),
    ],
    test_multiple_content_types: () => [
      text("Multiple content types test:"),
      image,
      resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    test_error_handling: () => {
      throw new Error("This tool intentionally returns an error for testing");
    },
    test_tool_with_progress: tellProgress,
    test_tool_with_logging: log,
    test_logging_tool: log,
    test_reconnection: async ({ http }) => {
      http?.closeSSE?.();
      await wait(stepMs);
    },
    test_trigger_tool_change: () => changes.publish({ kind: "tools_list_changed" }),
    test_trigger_prompt_change: () => changes.publish({ kind: "prompts_list_changed" }),
  };
  return (server) => {
    for (const [name, act] of Object.entries(simple))
      server.registerTool(
        name,
        { description: `${name} of the suite`, inputSchema: z.object({}) },
        async (_, context) => {
          const content = (await act(context)) as [] | undefined;
          return { content: content ?? [text("done")] };
        },
      );
    server.registerTool(
      "json_schema_2020_12_tool",
      { description: "keeps its schema", inputSchema: fromJsonSchema(schema2020) },
      async () => ({ content: [text("done")] }),
    );
    server.registerTool(
      "test_custom_header",
      {
        description: "takes a parameter by header too",
        inputSchema: z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) }),
      },
      async ({ region }) => ({ content: [text(region)] }),
    );
  };
}

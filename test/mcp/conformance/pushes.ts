import type { ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Offer } from "../../../packages/server/src/mcp/server.ts";
import { text } from "./content.ts";

const options = ["option1", "option2", "option3"];
const titled = [
  { const: "value1", title: "First Option" },
  { const: "value2", title: "Second Option" },
  { const: "value3", title: "Third Option" },
];

const forms = {
  test_elicitation: {
    username: { type: "string", description: "User's response" },
    email: { type: "string", description: "User's email address" },
  },
  test_elicitation_sep1034_defaults: {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  },
  test_elicitation_sep1330_enums: {
    untitledSingle: { type: "string", enum: options },
    titledSingle: { type: "string", oneOf: titled },
    legacyEnum: {
      type: "string",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti: { type: "array", items: { type: "string", enum: options } },
    titledMulti: { type: "array", items: { anyOf: titled } },
  },
} as const;

/** Tools that ask their client in mid-call, on the stream of that call, as up to 2025-11-25. */
export const fixturePushes: Offer = (server) => {
  for (const [name, properties] of Object.entries(forms))
    server.registerTool(
      name,
      { description: `${name} of the suite`, inputSchema: z.object({ message: z.string().optional() }) },
      async ({ message = "Please fill this in" }, { mcpReq }: ServerContext) => {
        const required = name === "test_elicitation" ? Object.keys(properties) : [];
        const params = { mode: "form", message, requestedSchema: { type: "object", properties, required } };
        const { action, content } = await mcpReq.send({ method: "elicitation/create", params });
        return { content: [text(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`)] };
      },
    );
  server.registerTool(
    "test_sampling",
    { description: "asks the client's model", inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }: ServerContext) => {
      const messages = [{ role: "user" as const, content: text(prompt) }];
      const params = { messages, maxTokens: 100 };
      const { content } = await mcpReq.send({ method: "sampling/createMessage", params });
      return { content: [text(`LLM response: ${JSON.stringify(content)}`)] };
    },
  );
};

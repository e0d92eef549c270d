import { completable, ResourceTemplate } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Offer } from "../../../packages/server/src/mcp/server.ts";
import { image, png, resource, text } from "./content.ts";

/** Resources that the suite's scenarios read. */
export const fixtureResources: Offer = (server) => {
  server.server.registerCapabilities({ resources: { subscribe: true, listChanged: true } });
  const texts = { "test://static-text": "static text", "test://watched-resource": "watched" };
  for (const [uri, name] of Object.entries(texts))
    server.registerResource(name, uri, { description: name, mimeType: "text/plain" }, async () => ({
      contents: [{ uri, mimeType: "text/plain", text: "This is the content of the static text resource." }],
    }));
  const binary = "test://static-binary";
  server.registerResource("static binary", binary, { description: "a pixel", mimeType: "image/png" }, async () => ({
    contents: [{ uri: binary, mimeType: "image/png", blob: png }],
  }));
  const template = new ResourceTemplate("test://template/{id}/data", { list: undefined });
  const json = "application/json";
  server.registerResource("template", template, { description: "data", mimeType: json }, async ({ href }, { id }) => ({
    contents: [
      { uri: href, mimeType: json, text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) },
    ],
  }));
};

/** Prompts that the suite's scenarios get. */
export const fixturePrompts: Offer = (server) => {
  server.registerPrompt("test_simple_prompt", { description: "plain" }, async () => ({
    messages: [{ role: "user", content: text("This is a simple prompt for testing.") }],
  }));
  server.registerPrompt(
    "test_prompt_with_arguments",
    {
      description: "takes arguments",
      argsSchema: z.object({
        arg1: completable(z.string(), (given) => ["paris", "park", "party"].filter((word) => word.startsWith(given))),
        arg2: z.string(),
      }),
    },
    async ({ arg1, arg2 }) => ({
      messages: [{ role: "user", content: text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`) }],
    }),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "embeds a resource", argsSchema: z.object({ resourceUri: z.string() }) },
    async ({ resourceUri }) => ({
      messages: [
        { role: "user", content: resource(resourceUri, "text/plain", "Embedded resource content for testing.") },
        { role: "user", content: text("Please process the embedded resource above.") },
      ],
    }),
  );
  server.registerPrompt("test_prompt_with_image", { description: "shows an image" }, async () => ({
    messages: [
      { role: "user", content: image },
      { role: "user", content: text("Please analyze the image above.") },
    ],
  }));
};

import { z } from "zod";
import { type Document, docsPage } from "./docs-page.ts";
import { docsStyle } from "./docs-style.ts";
import { openApi } from "./openapi.ts";
import { defineOpenRoute, type Route, type RouteResponse } from "./route.ts";

const tag = "documents";

const start = { docs: "/docs", openapi: "/openapi.json", mcp: "/mcp", help: "caisson --help" };
const places = z.object({
  version: z.string(),
  docs: z.string(),
  openapi: z.string(),
  mcp: z.string(),
  help: z.string(),
});

function startText(version: string): string {
  return [
    `Caisson ${version}`,
    "",
    `${start.docs.padEnd(16)}the REST API, with examples`,
    `${start.openapi.padEnd(16)}the same as OpenAPI 3.1`,
    `${start.mcp.padEnd(16)}the Model Context Protocol, for agents`,
    `${start.help.padEnd(16)}commands in a terminal`,
    "",
  ].join("\n");
}

interface DocumentParts {
  version: string;
  publicUrl?: string | null;
}

/** What the route table says of itself; it is made once, at the first request. */
export function documentRoutes(all: () => readonly Route[], { version, publicUrl }: DocumentParts): Route[] {
  let made: Document | undefined;
  let document: string | undefined;
  let html: string | undefined;
  const make = () => (made ??= openApi(all(), version, publicUrl ?? "/") as unknown as Document);
  const show = (type: string, text: string): RouteResponse => ({
    status: 200,
    text,
    headers: { "content-type": type },
  });
  return [
    defineOpenRoute({
      method: "GET",
      path: "/",
      tag,
      summary: "Returns the addresses of the API and its documentation",
      responses: { 200: { description: "as JSON, or as text", schema: places, media: ["text/plain"] } },
      handler: async ({ request }) => {
        const accept = request.headers.accept ?? "";
        if (accept.includes("json")) return { status: 200, json: { version, ...start } };
        return show("text/plain; charset=utf-8", startText(version));
      },
    }),
    defineOpenRoute({
      method: "GET",
      path: "/openapi.json",
      tag,
      summary: "Returns the description of this API (OpenAPI 3.1)",
      responses: { 200: { description: "the document", schema: z.looseObject({ openapi: z.string() }) } },
      handler: async () => {
        document ??= JSON.stringify(make());
        return show("application/json; charset=utf-8", document);
      },
    }),
    defineOpenRoute({
      method: "GET",
      path: "/docs",
      tag,
      summary: "Returns the description of this API as a web page",
      responses: { 200: { description: "the page", media: ["text/html"] } },
      handler: async () => {
        html ??= docsPage(make());
        return show("text/html; charset=utf-8", html);
      },
    }),
    defineOpenRoute({
      method: "GET",
      path: "/docs/style.css",
      tag,
      summary: "Returns the style sheet of the daemon's web pages",
      responses: { 200: { description: "the style sheet", media: ["text/css"] } },
      handler: async () => show("text/css; charset=utf-8", docsStyle),
    }),
  ];
}

import { z } from "zod";
import { type Document, docsPage } from "./docs-page.ts";
import { docsStyle } from "./docs-style.ts";
import { openApi } from "./openapi.ts";
import { type Answer, defineOpenRoute, type Route } from "./route.ts";

const tag = "documents";

/** What the route table says of itself; it is made once, at the first request. */
export function documentRoutes(all: () => readonly Route[], version: string): Route[] {
  let made: Document | undefined;
  let document: string | undefined;
  let html: string | undefined;
  const make = () => (made ??= openApi(all(), version) as unknown as Document);
  const show = (type: string, text: string): Answer => ({ status: 200, text, headers: { "content-type": type } });
  return [
    defineOpenRoute({
      method: "GET",
      path: "/openapi.json",
      tag,
      summary: "This API as OpenAPI 3.1",
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
      summary: "This API as a page",
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
      summary: "The style of pages",
      responses: { 200: { description: "the style sheet", media: ["text/css"] } },
      handler: async () => show("text/css; charset=utf-8", docsStyle),
    }),
  ];
}

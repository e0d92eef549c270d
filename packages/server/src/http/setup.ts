import { z } from "zod";
import { AppError } from "../core/errors.ts";
import { defaultNamespace } from "../identity/first-admin.ts";
import type { Keyring } from "../identity/keyring.ts";
import type { OneTimeTokens } from "../identity/one-time-tokens.ts";
import { escapeHtml, page } from "./html.ts";
import { defineOpenRoute, type Route } from "./route.ts";

const tag = "setup";
const query = z.strictObject({ token: z.string().min(1).max(128) });

export interface SetupParts {
  keyring: Keyring;
  links: OneTimeTokens<"setup">;
}

/** The one-time link of a first start (IDN-03). Opening it uses nothing up, so that a preview of it does no harm. */
export function setupRoutes({ keyring, links }: SetupParts): Route[] {
  return [
    defineOpenRoute({
      method: "GET",
      path: "/setup",
      tag,
      summary: "Returns the page of the one-time set-up link",
      query,
      responses: { 200: { description: "a page with a button", media: ["text/html"] } },
      handler: async ({ query: { token } }) => {
        const action = escapeHtml(`/setup?token=${encodeURIComponent(token)}`);
        return {
          status: 200,
          text: page(
            "Caisson",
            `<h1>Caisson</h1><p>This link shows an administrator's API key, once.</p>
<form method="post" action="${action}"><button>Show the key</button></form>`,
          ),
          headers: { "content-type": "text/html; charset=utf-8" },
        };
      },
    }),
    defineOpenRoute({
      method: "POST",
      path: "/setup",
      tag,
      summary: "Redeems the one-time set-up link and returns an administrator key",
      query,
      raw: ["application/x-www-form-urlencoded", "application/json"],
      problems: [503, 507],
      responses: {
        200: {
          description: "the key; it is shown only once",
          schema: z.object({ id: z.string(), key: z.string() }),
          media: ["text/html"],
        },
      },
      handler: async ({ query: { token }, request, requestId }) => {
        if (links.redeem(token) === undefined)
          throw new AppError("forbidden", "this link is expired or already used", {
            hint: "the administrator key is in the file admin-key of the data folder",
          });
        const name = "one-time link";
        const by = {
          principal: { id: "setup-link", name, namespace: defaultNamespace, role: "admin" },
          requestId,
        } as const;
        const { key, token: apiKey } = await keyring.issue({ name, namespace: defaultNamespace, role: "admin" }, by);
        if (!request.headers.accept?.includes("text/html")) return { status: 200, json: { id: key.id, key: apiKey } };
        return {
          status: 200,
          text: page("Caisson", `<h1>Caisson</h1><p>Keep it: it is not shown again.</p><p><code>${apiKey}</code></p>`),
          headers: { "content-type": "text/html; charset=utf-8" },
        };
      },
    }),
  ];
}

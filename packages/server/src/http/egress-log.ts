import { z } from "zod";
import type { AttemptRecords } from "../core/egress-policies.ts";
import { defined } from "../lib/defined.ts";
import { attempt, showAttempt, verdicts } from "../schemas/egress-attempt.ts";
import { linkAfter, pageHeaders, pageQuery } from "../schemas/page.ts";
import { written } from "../schemas/written.ts";
import { defineRoute, type Route } from "./route.ts";

export function egressLogRoutes(attempts: Pick<AttemptRecords, "list">): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/api/v1/egress/log",
      tag: "egress",
      summary: "Lists connection attempts of sandboxes, newest first",
      scope: "read",
      audit: null,
      query: pageQuery.extend({
        cursor: written(z.number().int().min(1)).optional().describe("from the Link header of the previous page"),
        sandbox_id: z.string().min(1).max(64).optional(),
        verdict: z.enum(verdicts).optional(),
      }),
      responses: { 200: { description: "a page of attempts", schema: z.array(attempt), headers: pageHeaders } },
      handler: async ({ caller, query, request }) => {
        const { limit, cursor, sandbox_id, verdict } = query;
        const asked = defined({ sandboxId: sandbox_id, verdict, before: cursor });
        const found = await attempts.list({ namespace: caller.principal.namespace, limit, ...asked });
        const headers = linkAfter(found, limit, request.url, ({ sequence }) => String(sequence));
        return { status: 200, json: found.map(showAttempt), headers };
      },
    }),
  ];
}

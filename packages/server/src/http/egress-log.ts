import { z } from "zod";
import { defined } from "../core/defined.ts";
import { egressLayers } from "../core/egress.ts";
import type { AttemptRecords, LoggedAttempt } from "../core/egress-policies.ts";
import { linkAfter, pageHeaders, pageQuery } from "../schemas/page.ts";
import { written } from "../schemas/written.ts";
import { defineRoute, type Route } from "./route.ts";

const verdicts = ["allowed", "denied", "failed"] as const;

export const attempt = z
  .object({
    id: z.string(),
    sandbox_id: z.string(),
    host: z.string(),
    port: z.number(),
    address: z.string().nullable().describe("that was dialled"),
    verdict: z.enum(verdicts),
    rule: z.string().nullable(),
    layer: z.enum(egressLayers).nullable(),
    reason: z.string().nullable(),
    approval_id: z.string().nullable(),
    bytes_up: z.number(),
    bytes_down: z.number(),
    started_at: z.iso.datetime(),
    duration_ms: z.number().nullable().describe("null while it goes on"),
  })
  .meta({ id: "EgressAttempt" });

function show(one: LoggedAttempt): z.output<typeof attempt> {
  return {
    id: one.id,
    sandbox_id: one.sandboxId,
    host: one.host,
    port: one.port,
    address: one.address,
    verdict: one.verdict,
    rule: one.rule,
    layer: one.layer,
    reason: one.reason,
    approval_id: one.approvalId,
    bytes_up: one.bytesUp,
    bytes_down: one.bytesDown,
    started_at: new Date(one.startedAtMs).toISOString(),
    duration_ms: one.durationMs,
  };
}

export function egressLogRoutes(attempts: Pick<AttemptRecords, "list">): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/api/v1/egress/log",
      tag: "egress",
      summary: "Lists the last attempts to reach something, newest first",
      scope: "read",
      audit: null,
      query: pageQuery.extend({
        cursor: written(z.number().int().min(1)).optional().describe("from the Link of the page before"),
        sandbox_id: z.string().min(1).max(64).optional(),
        verdict: z.enum(verdicts).optional(),
      }),
      responses: { 200: { description: "a page of them", schema: z.array(attempt), headers: pageHeaders } },
      handler: async ({ caller, query, request }) => {
        const { limit, cursor, sandbox_id, verdict } = query;
        const asked = defined({ sandboxId: sandbox_id, verdict, before: cursor });
        const found = await attempts.list({ namespace: caller.principal.namespace, limit, ...asked });
        const headers = linkAfter(found, limit, request.url, ({ sequence }) => String(sequence));
        return { status: 200, json: found.map(show), headers };
      },
    }),
  ];
}

import { Readable } from "node:stream";
import { z } from "zod";
import { toJson } from "../audit-export/audit-json.ts";
import { exportFormats, exportLines } from "../audit-export/export-lines.ts";
import type { Audit, AuditQuery } from "../core/audit.ts";
import { AppError } from "../core/errors.ts";
import type { Principal } from "../core/principal.ts";
import { isAllowed, requireScope } from "../core/scope.ts";
import { defined } from "../lib/defined.ts";
import { auditContent, auditPosition, auditRow } from "../schemas/audit.ts";
import { linkAfter, pageHeaders, pageQuery } from "../schemas/page.ts";
import { written, writtenFlag } from "../schemas/written.ts";
import { httpLimits } from "./limits.ts";
import { defineRoute, type Route } from "./route.ts";
import { visibleNamespace } from "./visible-namespace.ts";

const path = "/api/v1/audit";
const tag = "audit";

const filters = z.strictObject({
  sandbox_id: z.string().max(64).optional(),
  actor: z.string().max(128).optional(),
  type: z.string().max(128).optional(),
  run_id: z.string().max(64).optional(),
  text: z.string().min(1).max(256).optional().describe("only entries with this text in type, actor or detail"),
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
  all_namespaces: writtenFlag.optional().describe("entries of all namespaces (administrators only)"),
});

function queryOf(principal: Principal, asked: z.output<typeof filters>): AuditQuery {
  return defined({
    namespace: visibleNamespace(principal, asked.all_namespaces),
    sandboxId: asked.sandbox_id,
    actor: asked.actor,
    type: asked.type,
    runId: asked.run_id,
    text: asked.text,
    fromMs: asked.from === undefined ? undefined : Date.parse(asked.from),
    toMs: asked.to === undefined ? undefined : Date.parse(asked.to),
  });
}

const chainVerdict = z
  .object({
    namespace: z.string(),
    rows: z.number(),
    first: z.number(),
    last: z.number(),
    hash: z.string().describe("hash of the last row; stored elsewhere, it proves all rows up to it"),
    pruned: z.number().describe("rows up to this sequence were deleted by retention"),
    checkpoints: z.number(),
    unvouched: z.number().describe("number of rows after the newest signature, which the public key cannot verify"),
  })
  .meta({ id: "ChainVerdict" });

const verdict = z
  .object({
    ok: z.boolean(),
    rows: z.number(),
    chains: z.array(chainVerdict).describe("one per namespace"),
    problems: z.array(
      z.object({ namespace: z.string().nullable(), sequence: z.number().nullable(), what: z.string() }),
    ),
  })
  .meta({ id: "AuditVerdict" });

export function auditRoutes(audit: Audit): Route[] {
  return [
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Searches the audit log, newest entries first",
      scope: "operate",
      audit: null,
      query: filters.extend({
        ...pageQuery.shape,
        cursor: written(z.number().int().min(1)).optional().describe("from the Link header of the previous page"),
      }),
      responses: {
        200: {
          description: "a page of entries",
          schema: z.array(auditRow),
          headers: pageHeaders,
        },
      },
      handler: async ({ caller, query, request }) => {
        const { limit, cursor } = query;
        const before = cursor ?? Number.MAX_SAFE_INTEGER;
        const rows = await audit.search({ ...queryOf(caller.principal, query), before, limit });
        const headers = linkAfter(rows, limit, request.url, ({ position }) => String(position));
        return { status: 200, json: rows.map(toJson), headers };
      },
    }),
    defineRoute({
      method: "GET",
      path: `${path}/{position}/content`,
      tag,
      summary: "Returns arguments and result of a tool call, if the setting `audit_content` keeps them",
      scope: "operate",
      audit: ["audit.content", "access.denied"],
      params: auditPosition,
      responses: {
        200: {
          description: "arguments and result; if they are kept in full, only administrators get them",
          schema: auditContent,
        },
      },
      handler: async ({ caller, params, record }) => {
        const { principal } = caller;
        const { position } = params;
        const found = await audit.content(position, principal.namespace);
        if (found === undefined)
          throw new AppError("not_found", `entry ${position} has no content`, {
            hint: "the setting audit_content keeps the content of tool calls, for audit_content_days",
          });
        if (found.kind === "full" && !isAllowed(principal, "unmask")) {
          record({
            type: "access.denied",
            data: { method: "GET", route: `${path}/{position}/content`, role: principal.role },
          });
          requireScope(principal, "unmask");
        }
        record({ type: "audit.content", data: { position, kind: found.kind } });
        return { status: 200, json: found };
      },
    }),
    defineRoute({
      method: "POST",
      path: `${path}/verify`,
      tag,
      summary: "Verifies the audit chain of the namespace: every row and every signed checkpoint",
      scope: "operate",
      audit: null,
      query: filters.pick({ all_namespaces: true }),
      responses: { 200: { description: "the result of the verification", schema: verdict } },
      handler: async ({ caller, query }) => ({
        status: 200,
        json: await audit.verify(visibleNamespace(caller.principal, query.all_namespaces)),
      }),
    }),
    defineRoute({
      method: "GET",
      path: `${path}/export`,
      tag,
      summary: "Exports the audit log, oldest entries first, one per line",
      scope: "operate",
      audit: ["audit.exported"],
      query: filters.extend({ format: z.enum(exportFormats).default("jsonl") }),
      responses: { 200: { description: "entries as JSON lines", media: ["application/x-ndjson"] } },
      handler: async ({ caller, query, signal, record, openStream }) => {
        const lines = exportLines(audit, queryOf(caller.principal, query), query.format);
        const stream = Readable.from(lines, { objectMode: false, highWaterMark: httpLimits.streamBufferBytes });
        stream.once("close", openStream());
        signal.addEventListener("abort", () => stream.destroy(), { once: true });
        record({ type: "audit.exported", data: { format: query.format } });
        const headers = {
          "content-type": "application/x-ndjson",
          "content-disposition": 'attachment; filename="audit.jsonl"',
        };
        return { status: 200, stream, headers };
      },
    }),
  ];
}

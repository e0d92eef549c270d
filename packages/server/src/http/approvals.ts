import { z } from "zod";
import type { Approvals } from "../core/approval.ts";
import type { Fleet } from "../core/fleet.ts";
import { requireHost } from "../egress/require-host.ts";
import { defined } from "../lib/defined.ts";
import {
  approval,
  approvalId,
  decisionBody,
  listQuery,
  requestBody,
  showApproval,
  waitQuery,
} from "../schemas/approval.ts";
import { linkAfter, pageHeaders } from "../schemas/page.ts";
import { defineRoute, type Route } from "./route.ts";

const path = "/api/v1/approvals";
const one = `${path}/{id}`;
const tag = "approvals";

/** Questions to humans: an agent asks and waits, an operator decides (NET-09). */
export function approvalRoutes(approvals: Approvals, fleet: Pick<Fleet<unknown>, "get">): Route[] {
  return [
    defineRoute({
      method: "POST",
      path,
      tag,
      summary: "Requests access to a host for a sandbox or the namespace; a human decides",
      scope: "use",
      audit: "fleet",
      body: requestBody,
      problems: [404],
      responses: {
        200: { description: "the request, already decided", schema: approval },
        201: { description: "the pending request", schema: approval },
      },
      handler: async ({ caller, body, signal }) => {
        const { kind, port, sandbox_id: sandboxId = null, purpose, timeout_seconds: seconds, wait_seconds } = body;
        if (sandboxId !== null) await fleet.get(caller, sandboxId);
        const asked = await approvals.request(caller, {
          kind,
          sandboxId,
          subject: `${requireHost(body.host)}:${port}`,
          detail: defined({ host: requireHost(body.host), port, purpose }),
          ...(seconds === undefined ? {} : { timeoutMs: seconds * 1000 }),
        });
        const found =
          asked.state === "pending" ? await approvals.wait(caller, asked.id, wait_seconds * 1000, signal) : asked;
        const headers = { location: `${path}/${found.id}` };
        return { status: asked.state === "pending" ? 201 : 200, json: showApproval(found), headers };
      },
    }),
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists approval requests and decisions, newest first",
      scope: "read",
      audit: null,
      query: listQuery,
      responses: { 200: { description: "a page of requests", schema: z.array(approval), headers: pageHeaders } },
      handler: async ({ caller, query, request }) => {
        const { state, kind, sandbox_id: sandboxId, cursor, limit } = query;
        const found = await approvals.list(caller, { limit, ...defined({ state, kind, sandboxId, cursor }) });
        return {
          status: 200,
          json: found.map(showApproval),
          headers: linkAfter(found, limit, request.url, ({ id }) => id),
        };
      },
    }),
    defineRoute({
      method: "GET",
      path: one,
      tag,
      summary: "Returns an approval request",
      scope: "read",
      audit: null,
      params: approvalId,
      responses: { 200: { description: "the request", schema: approval } },
      handler: async ({ caller, params }) => ({
        status: 200,
        json: showApproval(await approvals.get(caller, params.id)),
      }),
    }),
    defineRoute({
      method: "GET",
      path: `${one}/wait`,
      tag,
      summary: "Waits for the decision about an approval request, up to a timeout",
      scope: "read",
      audit: null,
      params: approvalId,
      query: waitQuery,
      responses: { 200: { description: "the request; still pending if the timeout was reached", schema: approval } },
      handler: async ({ caller, params, query, signal }) => ({
        status: 200,
        json: showApproval(await approvals.wait(caller, params.id, query.timeout_seconds * 1000, signal)),
      }),
    }),
    defineRoute({
      method: "POST",
      path: `${one}/decide`,
      tag,
      summary: "Approves or denies an approval request",
      scope: "operate",
      audit: "fleet",
      params: approvalId,
      body: decisionBody,
      responses: { 200: { description: "the decided request", schema: approval } },
      handler: async ({ caller, params, body }) => ({
        status: 200,
        json: showApproval(await approvals.decide(caller, params.id, defined(body))),
      }),
    }),
    defineRoute({
      method: "POST",
      path: `${one}/revoke`,
      tag,
      summary: "Revokes a decision that is still in effect",
      scope: "operate",
      audit: "fleet",
      params: approvalId,
      responses: {
        200: { description: "the revoked request; the next attempt needs approval again", schema: approval },
      },
      handler: async ({ caller, params }) => ({
        status: 200,
        json: showApproval(await approvals.revoke(caller, params.id)),
      }),
    }),
  ];
}

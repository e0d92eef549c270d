import { z } from "zod";
import type { Fleet } from "../core/fleet.ts";
import { defined } from "../lib/defined.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { checkpoint, checkpointId, createCheckpoint, showCheckpoint } from "../schemas/checkpoint.ts";
import { linkAfter, pageHeaders, pageQuery } from "../schemas/page.ts";
import { sandbox, sandboxId, showSandbox } from "../schemas/sandbox.ts";
import { defineRoute, type Route } from "./route.ts";

const path = "/api/v1/checkpoints";
const tag = "checkpoints";

/** Running sandboxes, saved with their memory (LIF-07). */
export function checkpointRoutes({ checkpoints }: Pick<Fleet<Sandbox>, "checkpoints">): Route[] {
  return [
    defineRoute({
      method: "POST",
      path: "/api/v1/sandboxes/{id}/checkpoints",
      tag,
      summary: "Saves a running gVisor sandbox with its memory and processes; the sandbox keeps running",
      scope: "use",
      audit: "fleet",
      params: sandboxId,
      body: createCheckpoint,
      bodyOptional: true,
      idempotent: true,
      responses: { 201: { description: "the checkpoint", schema: checkpoint } },
      handler: async ({ caller, params, body }) => {
        const record = await checkpoints.create(caller, params.id, body.name);
        return { status: 201, json: showCheckpoint(record), headers: { location: `${path}/${record.id}` } };
      },
    }),
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists checkpoints, newest first",
      scope: "read",
      audit: null,
      query: pageQuery.extend({ sandbox_id: z.string().min(1).max(64).optional() }),
      responses: { 200: { description: "a page of checkpoints", schema: z.array(checkpoint), headers: pageHeaders } },
      handler: async ({ caller, query, request }) => {
        const { limit, cursor, sandbox_id: sandboxId } = query;
        const found = await checkpoints.list(caller, { limit, ...defined({ cursor, sandboxId }) });
        const headers = linkAfter(found, limit, request.url, ({ id }) => id);
        return { status: 200, json: found.map(showCheckpoint), headers };
      },
    }),
    defineRoute({
      method: "GET",
      path: `${path}/{checkpoint_id}`,
      tag,
      summary: "Returns a checkpoint",
      scope: "read",
      audit: null,
      params: checkpointId,
      responses: { 200: { description: "the checkpoint", schema: checkpoint } },
      handler: async ({ caller, params }) => ({
        status: 200,
        json: showCheckpoint(await checkpoints.get(caller, params.checkpoint_id)),
      }),
    }),
    defineRoute({
      method: "POST",
      path: `${path}/{checkpoint_id}/restore`,
      tag,
      summary: "Creates a sandbox from a checkpoint",
      scope: "use",
      audit: "fleet",
      params: checkpointId,
      problems: [422, 504],
      responses: { 201: { description: "the new sandbox, running", schema: sandbox } },
      handler: async ({ caller, params }) => {
        const record = await checkpoints.restore(caller, params.checkpoint_id);
        return { status: 201, json: showSandbox(record), headers: { location: `/api/v1/sandboxes/${record.id}` } };
      },
    }),
    defineRoute({
      method: "DELETE",
      path: `${path}/{checkpoint_id}`,
      tag,
      summary: "Deletes a checkpoint and its encryption key",
      scope: "use",
      audit: "fleet",
      params: checkpointId,
      responses: { 204: { description: "the checkpoint is deleted" } },
      handler: async ({ caller, params }) => {
        await checkpoints.delete(caller, params.checkpoint_id);
        return { status: 204 };
      },
    }),
  ];
}

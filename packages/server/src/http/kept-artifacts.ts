import { z } from "zod";
import type { KeptArtifacts } from "../core/kept-artifacts.ts";
import { defined } from "../lib/defined.ts";
import type { ArtifactKeeper } from "../sandboxes/artifact-keeper.ts";
import { artifact } from "../schemas/artifact.ts";
import { linkAfter, pageHeaders, pageQuery } from "../schemas/page.ts";
import { filePath, sandboxId } from "../schemas/sandbox.ts";
import { defineRoute, type Route } from "./route.ts";
import { sendFile } from "./send-file.ts";

const path = "/api/v1/artifacts";
const tag = "artifacts";

const kept = z
  .object({
    sandbox_id: z.string(),
    file_count: z.number().int(),
    total_size: z.number().int().describe("total bytes of all files"),
    kept_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
    created_by: z.string(),
  })
  .meta({ id: "KeptArtifacts" });

function show(record: KeptArtifacts): z.output<typeof kept> {
  return {
    sandbox_id: record.id,
    file_count: record.files,
    total_size: record.totalBytes,
    kept_at: new Date(record.createdAtMs).toISOString(),
    expires_at: new Date(record.expiresAtMs).toISOString(),
    created_by: record.createdBy,
  };
}

/** Artifacts of sandboxes that are destroyed (LIF-13). */
export function keptArtifactRoutes(keeper: ArtifactKeeper): Route[] {
  return [
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists destroyed sandboxes whose artifacts are kept, newest first",
      scope: "read",
      audit: null,
      query: pageQuery,
      responses: { 200: { description: "a page of sandboxes", schema: z.array(kept), headers: pageHeaders } },
      handler: async ({ caller, query: { limit, cursor }, request }) => {
        const found = await keeper.list(caller, { limit, ...defined({ cursor }) });
        return { status: 200, json: found.map(show), headers: linkAfter(found, limit, request.url, ({ id }) => id) };
      },
    }),
    defineRoute({
      method: "GET",
      path: `${path}/{id}`,
      tag,
      summary: "Lists the kept artifacts of a destroyed sandbox with their hashes",
      scope: "read",
      audit: null,
      params: sandboxId,
      responses: { 200: { description: "all artifacts of the sandbox", schema: z.array(artifact) } },
      handler: async ({ caller, params }) => ({ status: 200, json: await keeper.files(caller, params.id) }),
    }),
    defineRoute({
      method: "GET",
      path: `${path}/{id}/content/{path}`,
      tag,
      summary: "Returns a kept artifact of a destroyed sandbox",
      scope: "read",
      audit: ["file.read"],
      params: sandboxId.extend({ path: filePath.min(1) }),
      responses: { 200: { description: "the artifact, as an attachment", media: ["application/octet-stream"] } },
      handler: async ({ caller, params, openStream, record }) => {
        const found = await keeper.read(caller, params.id, params.path);
        record({ type: "file.read", sandboxId: params.id, data: { path: params.path, kind: "artifact" } });
        return sendFile(params.path, found, openStream);
      },
    }),
    defineRoute({
      method: "DELETE",
      path: `${path}/{id}`,
      tag,
      summary: "Deletes the kept artifacts of a destroyed sandbox before they expire",
      scope: "use",
      audit: "fleet",
      params: sandboxId,
      responses: { 204: { description: "the artifacts are deleted" } },
      handler: async ({ caller, params }) => {
        await keeper.delete(caller, params.id);
        return { status: 204 };
      },
    }),
  ];
}

import { z } from "zod";
import type { Fleet } from "../core/fleet.ts";
import type { SnapshotRecord } from "../core/snapshot.ts";
import { defined } from "../lib/defined.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { Snapshots } from "../sandboxes/snapshots.ts";
import { linkAfter, pageHeaders, pageQuery } from "../schemas/page.ts";
import { filePath, sandboxId } from "../schemas/sandbox.ts";
import {
  createSnapshot,
  diff,
  restored,
  sandboxSnapshotId,
  showDiff,
  showFile,
  showRestored,
  showSnapshot,
  snapshot,
  snapshotFile,
  snapshotId,
} from "../schemas/snapshot.ts";
import { defineRoute, type Route, type RouteResponse } from "./route.ts";
import { sendFile } from "./send-file.ts";

const path = "/api/v1/snapshots";
const ofSandbox = "/api/v1/sandboxes/{id}/snapshots";
const tag = "snapshots";

function page(records: readonly SnapshotRecord[], limit: number, url: string): RouteResponse {
  return { status: 200, json: records.map(showSnapshot), headers: linkAfter(records, limit, url, ({ id }) => id) };
}

/** Snapshots of a sandbox's workspace: taken, listed, compared, restored (LIF-09). */
export function snapshotRoutes(fleet: Fleet<Sandbox>, snapshots: Snapshots): Route[] {
  return [
    defineRoute({
      method: "POST",
      path: ofSandbox,
      tag,
      summary: "Takes a snapshot of the workspace of a sandbox",
      scope: "use",
      audit: "fleet",
      params: sandboxId,
      body: createSnapshot,
      bodyOptional: true,
      idempotent: true,
      responses: { 201: { description: "the snapshot", schema: snapshot } },
      handler: async ({ caller, params, body }) => {
        const record = await fleet.use(caller, params.id, (sandbox) =>
          snapshots.create(caller, sandbox, body.description),
        );
        return { status: 201, json: showSnapshot(record), headers: { location: `${path}/${record.id}` } };
      },
    }),
    defineRoute({
      method: "GET",
      path: ofSandbox,
      tag,
      summary: "Lists the snapshots of a sandbox, newest first",
      scope: "read",
      audit: null,
      params: sandboxId,
      query: pageQuery,
      responses: { 200: { description: "a page of snapshots", schema: z.array(snapshot), headers: pageHeaders } },
      handler: async ({ caller, params, query, request }) => {
        const { limit, cursor } = query;
        const { id: sandboxId } = await fleet.get(caller, params.id);
        const records = await snapshots.list(caller, { sandboxId, limit, ...defined({ cursor }) });
        return page(records, limit, request.url);
      },
    }),
    defineRoute({
      method: "POST",
      path: `${ofSandbox}/{snapshot_id}/restore`,
      tag,
      summary: "Restores the workspace to a snapshot; deletes files that the snapshot does not contain",
      scope: "use",
      audit: "fleet",
      params: sandboxSnapshotId,
      responses: { 200: { description: "numbers of written and deleted files", schema: restored } },
      handler: async ({ caller, params }) => {
        await snapshots.get(caller, params.snapshot_id); // before a sandbox is started for it
        const outcome = await fleet.use(caller, params.id, (sandbox) =>
          snapshots.restore(caller, sandbox, params.snapshot_id),
        );
        return { status: 200, json: showRestored(outcome) };
      },
    }),
    defineRoute({
      method: "GET",
      path: `${ofSandbox}/{snapshot_id}/diff`,
      tag,
      summary: "Lists what changed in the workspace since a snapshot",
      scope: "read",
      audit: null,
      params: sandboxSnapshotId,
      responses: { 200: { description: "paths that differ", schema: diff } },
      handler: async ({ caller, params }) => {
        await snapshots.get(caller, params.snapshot_id);
        const found = await fleet.use(caller, params.id, (sandbox) =>
          snapshots.diffLive(caller, params.snapshot_id, sandbox),
        );
        return { status: 200, json: showDiff(found) };
      },
    }),
    ...storedRoutes(snapshots),
  ];
}

/** What needs no sandbox: a snapshot outlives its own. */
function storedRoutes(snapshots: Snapshots): Route[] {
  return [
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists snapshots, including those of destroyed sandboxes, newest first",
      scope: "read",
      audit: null,
      query: pageQuery.extend({ sandbox_id: z.string().min(1).max(64).optional() }),
      responses: { 200: { description: "a page of snapshots", schema: z.array(snapshot), headers: pageHeaders } },
      handler: async ({ caller, query, request }) => {
        const { limit, cursor, sandbox_id: sandboxId } = query;
        return page(await snapshots.list(caller, { limit, ...defined({ cursor, sandboxId }) }), limit, request.url);
      },
    }),
    defineRoute({
      method: "GET",
      path: `${path}/{snapshot_id}`,
      tag,
      summary: "Returns a snapshot",
      scope: "read",
      audit: null,
      params: snapshotId,
      responses: { 200: { description: "the snapshot", schema: snapshot } },
      handler: async ({ caller, params }) => ({
        status: 200,
        json: showSnapshot(await snapshots.get(caller, params.snapshot_id)),
      }),
    }),
    defineRoute({
      method: "DELETE",
      path: `${path}/{snapshot_id}`,
      tag,
      summary: "Deletes a snapshot permanently",
      scope: "use",
      audit: "fleet",
      params: snapshotId,
      responses: { 204: { description: "the snapshot is deleted" } },
      handler: async ({ caller, params }) => {
        await snapshots.delete(caller, params.snapshot_id);
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "GET",
      path: `${path}/{snapshot_id}/files`,
      tag,
      summary: "Lists the files in a snapshot, by path",
      scope: "read",
      audit: null,
      params: snapshotId,
      query: pageQuery.extend({
        cursor: z
          .string()
          .regex(/^[\w-]{1,8192}$/)
          .optional(),
      }),
      responses: { 200: { description: "a page of files", schema: z.array(snapshotFile), headers: pageHeaders } },
      handler: async ({ caller, params, query, request }) => {
        const { limit, cursor } = query;
        const after = cursor === undefined ? undefined : decodeCursor(cursor);
        const entries = await snapshots.entries(caller, params.snapshot_id, { limit, ...defined({ after }) });
        const headers = linkAfter(entries, limit, request.url, (entry) => encodeCursor(entry.path));
        return { status: 200, json: entries.map(showFile), headers };
      },
    }),
    defineRoute({
      method: "GET",
      path: `${path}/{snapshot_id}/content/{path}`,
      tag,
      summary: "Returns the content of a file in a snapshot",
      scope: "read",
      audit: ["file.read"],
      params: snapshotId.extend({ path: filePath.min(1) }),
      responses: { 200: { description: "the file, as an attachment", media: ["application/octet-stream"] } },
      handler: async ({ caller, params, openStream, record }) => {
        const { snapshot_id, path: file } = params;
        const found = await snapshots.read(caller, snapshot_id, file);
        record({ type: "file.read", data: { path: file, kind: "snapshot", snapshot_id } });
        return sendFile(file, found, openStream);
      },
    }),
    defineRoute({
      method: "GET",
      path: `${path}/{snapshot_id}/diff`,
      tag,
      summary: "Lists the differences between two snapshots",
      scope: "read",
      audit: null,
      params: snapshotId,
      query: z.strictObject({ with: z.string().min(1).max(64).describe("id of the other snapshot") }),
      responses: { 200: { description: "paths that differ", schema: diff } },
      handler: async ({ caller, params, query }) => ({
        status: 200,
        json: showDiff(await snapshots.diff(caller, params.snapshot_id, query.with)),
      }),
    }),
  ];
}

/** Names are bytes: a cursor carries them as such. */
function encodeCursor(path: string): string {
  return Buffer.from(path, "latin1").toString("base64url");
}

function decodeCursor(cursor: string): string {
  return Buffer.from(cursor, "base64url").toString("latin1");
}

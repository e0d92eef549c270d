import { z } from "zod";
import type { Fleet } from "../core/fleet.ts";
import { defined } from "../lib/defined.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { filePath, sandboxId } from "../schemas/sandbox.ts";
import { writtenFlag } from "../schemas/written.ts";
import { attachment, sandboxBytes } from "./headers.ts";
import { download } from "./lend.ts";
import { defineRoute, type Route } from "./route.ts";
import { Upload } from "./upload.ts";

const path = "/api/v1/sandboxes/{id}/archive";
const tag = "files";
const folder = filePath.optional().describe("the folder (default: the workspace)");

export function archiveRoutes(fleet: Fleet<Sandbox>): Route[] {
  return [
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Returns a folder as a tar archive",
      scope: "read",
      audit: ["file.read"],
      params: sandboxId,
      query: z.strictObject({ path: folder, gzip: writtenFlag.optional() }),
      responses: { 200: { description: "the archive", media: ["application/octet-stream"] } },
      handler: (call) =>
        download(fleet, call, async (sandbox) => {
          const { path: from = "/workspace", gzip = false } = call.query;
          call.record({ type: "file.read", sandboxId: sandbox.id, data: { path: from, kind: "archive" } });
          const name = `${from.split("/").filter(Boolean).at(-1) ?? "workspace"}.tar${gzip ? ".gz" : ""}`;
          const headers = { ...sandboxBytes, "content-disposition": attachment(name) };
          return { answer: { status: 200, headers }, bytes: sandbox.files.pack(from, { gzip }) };
        }),
    }),
    defineRoute({
      method: "PUT",
      path,
      tag,
      summary: "Unpacks a tar archive (plain or gzip) into a folder; on an error, nothing is written",
      scope: "use",
      audit: ["archive.unpacked"],
      params: sandboxId,
      query: z.strictObject({ path: folder, replace: writtenFlag.optional() }),
      raw: ["application/x-tar", "application/gzip", "*/*"],
      responses: { 204: { description: "the archive is unpacked" } },
      handler: async ({ caller, params, query, body, record, openStream }) => {
        const release = openStream();
        try {
          const { path: to = "/workspace", replace } = query;
          const archive = new Upload(body);
          await fleet.use(caller, params.id, (sandbox) => sandbox.files.unpack(to, archive, defined({ replace })));
          const data = { path: to, ...archive.describe() };
          record({ type: "archive.unpacked", sandboxId: params.id, data });
          return { status: 204 };
        } finally {
          release();
        }
      },
    }),
  ];
}

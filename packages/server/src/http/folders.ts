import { z } from "zod";
import type { Fleet } from "../core/fleet.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { fileInfo, showFileInfo } from "../schemas/file.ts";
import { filePath, sandboxId } from "../schemas/sandbox.ts";
import { writtenFlag } from "../schemas/written.ts";
import { defineRoute, type Route } from "./route.ts";

const path = "/api/v1/sandboxes/{id}";
const tag = "files";

const byName = (left: { name: string }, right: { name: string }) => (left.name < right.name ? -1 : 1);

export function folderRoutes(fleet: Fleet<Sandbox>): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: `${path}/files`,
      tag,
      summary: "Lists a folder",
      scope: "read",
      audit: null,
      params: sandboxId,
      query: z.strictObject({ path: filePath.optional(), recursive: writtenFlag.optional() }),
      responses: { 200: { description: "the entries of the folder", schema: z.array(fileInfo) } },
      handler: async ({ caller, params, query }) => {
        const { path: folder = "/workspace", recursive = false } = query;
        const found = await fleet.use(caller, params.id, (sandbox) => sandbox.files.list(folder, { recursive }));
        return { status: 200, json: found.map(showFileInfo).sort(byName) };
      },
    }),
    defineRoute({
      method: "GET",
      path: `${path}/stat`,
      tag,
      summary: "Returns the type, size and mode of a path; does not follow links",
      scope: "read",
      audit: null,
      params: sandboxId,
      query: z.strictObject({ path: filePath }),
      responses: { 200: { description: "its type, size, mode and time", schema: fileInfo } },
      handler: async ({ caller, params, query }) => {
        const info = await fleet.use(caller, params.id, (sandbox) => sandbox.files.stat(query.path));
        return { status: 200, json: showFileInfo(info) };
      },
    }),
    defineRoute({
      method: "POST",
      path: `${path}/mkdir`,
      tag,
      summary: "Creates a folder and missing parent folders",
      scope: "use",
      audit: ["folder.created"],
      params: sandboxId,
      body: z.strictObject({ path: filePath }).meta({ id: "MakeFolder" }),
      responses: { 204: { description: "the folder exists" } },
      handler: async ({ caller, params, body, record }) => {
        await fleet.use(caller, params.id, (sandbox) => sandbox.files.mkdir(body.path));
        record({ type: "folder.created", sandboxId: params.id, data: { path: body.path } });
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "POST",
      path: `${path}/move`,
      tag,
      summary: "Moves or renames a file or folder",
      scope: "use",
      audit: ["file.moved"],
      params: sandboxId,
      body: z.strictObject({ from: filePath, to: filePath, replace: z.boolean().optional() }).meta({ id: "MoveFile" }),
      responses: { 204: { description: "the file or folder is moved" } },
      handler: async ({ caller, params, body, record }) => {
        const { from, to, replace = false } = body;
        await fleet.use(caller, params.id, (sandbox) => sandbox.files.move(from, to, { replace }));
        record({ type: "file.moved", sandboxId: params.id, data: { from, to, replace } });
        return { status: 204 };
      },
    }),
  ];
}

import { z } from "zod";
import type { FileInfo } from "../core/file.ts";
import type { Fleet } from "../core/fleet.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { filePath, sandboxId } from "../schemas/sandbox.ts";
import { defineRoute, type Route } from "./route.ts";

const path = "/api/v1/sandboxes/{id}";
const tag = "files";

const fileInfo = z
  .object({
    name: z.string(),
    type: z.enum(["file", "directory", "link", "other"]),
    size: z.number(),
    mode: z.string().describe("permission bits, in octal"),
    modified_at: z.iso.datetime(),
    target: z.string().optional().describe("of a link"),
  })
  .meta({ id: "FileInfo" });

const leastMs = Date.parse("0001-01-01T00:00:00.000Z");
const mostMs = Date.parse("9999-12-31T23:59:59.999Z");

/** A sandbox sets times as it likes; past years of four digits they are cut. */
function time(ms: number): string {
  return new Date(Math.min(Math.max(ms, leastMs), mostMs)).toISOString();
}

function show({ name, type, size, mode, mtimeMs, target }: FileInfo): z.output<typeof fileInfo> {
  return {
    name,
    type,
    size,
    mode: (mode & 0o7777).toString(8).padStart(4, "0"),
    modified_at: time(mtimeMs),
    ...(target === undefined ? {} : { target }),
  };
}

const byName = (left: { name: string }, right: { name: string }) => (left.name < right.name ? -1 : 1);

export function folderRoutes(fleet: Fleet<Sandbox>): Route[] {
  return [
    defineRoute({
      method: "GET",
      path: `${path}/files`,
      tag,
      summary: "Lists a folder",
      permission: "read",
      audit: null,
      params: sandboxId,
      query: z.strictObject({ path: filePath.optional(), recursive: z.stringbool().optional() }),
      responses: { 200: { description: "what is in it", schema: z.array(fileInfo) } },
      handler: async ({ caller, params, query }) => {
        const { path: folder = "/workspace", recursive = false } = query;
        const found = await fleet.use(caller, params.id, (sandbox) => sandbox.files.list(folder, { recursive }));
        return { status: 200, json: found.map(show).sort(byName) };
      },
    }),
    defineRoute({
      method: "GET",
      path: `${path}/stat`,
      tag,
      summary: "Shows what a path is; a link is not followed",
      permission: "read",
      audit: null,
      params: sandboxId,
      query: z.strictObject({ path: filePath }),
      responses: { 200: { description: "its type, size, mode and time", schema: fileInfo } },
      handler: async ({ caller, params, query }) => {
        const info = await fleet.use(caller, params.id, (sandbox) => sandbox.files.stat(query.path));
        return { status: 200, json: show(info) };
      },
    }),
    defineRoute({
      method: "POST",
      path: `${path}/mkdir`,
      tag,
      summary: "Makes a folder, and those on the way",
      permission: "use",
      audit: ["folder.created"],
      params: sandboxId,
      body: z.strictObject({ path: filePath }).meta({ id: "MakeFolder" }),
      responses: { 204: { description: "it is there" } },
      handler: async ({ caller, params, body, note }) => {
        await fleet.use(caller, params.id, (sandbox) => sandbox.files.mkdir(body.path));
        note({ type: "folder.created", sandboxId: params.id, detail: { path: body.path } });
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "POST",
      path: `${path}/move`,
      tag,
      summary: "Moves a file or folder",
      permission: "use",
      audit: ["file.moved"],
      params: sandboxId,
      body: z.strictObject({ from: filePath, to: filePath, replace: z.boolean().optional() }).meta({ id: "MoveFile" }),
      responses: { 204: { description: "it is moved" } },
      handler: async ({ caller, params, body, note }) => {
        const { from, to, replace = false } = body;
        await fleet.use(caller, params.id, (sandbox) => sandbox.files.move(from, to, { replace }));
        note({ type: "file.moved", sandboxId: params.id, detail: { from, to, replace } });
        return { status: 204 };
      },
    }),
  ];
}

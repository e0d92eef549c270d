import { z } from "zod";
import { AppError } from "../core/errors.ts";
import type { Fleet } from "../core/fleet.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { filePath, sandboxId } from "../schemas/sandbox.ts";
import { writtenFlag } from "../schemas/written.ts";
import { parseRange } from "./byte-range.ts";
import { attachment, sandboxBytes } from "./headers.ts";
import { download } from "./lend.ts";
import { type Call, defineRoute, type Route, type RouteResponse } from "./route.ts";
import { Upload } from "./upload.ts";

const path = "/api/v1/sandboxes/{id}/files/{path}";
const tag = "files";

const params = sandboxId.extend({
  path: filePath
    .min(1)
    .describe("path of the file, slashes included: relative to /workspace, or absolute with %2F as the first slash"),
});

type FileCall = Pick<
  Call<z.output<typeof params>, unknown, unknown>,
  "caller" | "params" | "signal" | "openStream" | "record"
> & {
  request: { headers: { range?: string | undefined; "if-range"?: string | string[] | undefined } };
};

const answers = {
  200: { description: "the whole file, always as an attachment", media: ["application/octet-stream"] },
  206: { description: "the requested range", media: ["application/octet-stream"] },
};

/** The headers of a file, and which of its bytes are asked for. */
async function describe(sandbox: Sandbox, file: string, headers: FileCall["request"]["headers"]) {
  const info = await sandbox.files.stat(file);
  if (info.type === "directory")
    throw new AppError("invalid", `${file}: it is a folder`, { details: { errno: "EISDIR" } });
  if (info.type !== "file") throw new AppError("invalid", `${file}: it is not a regular file`);
  const range = headers["if-range"] === undefined ? parseRange(headers.range, info.size) : undefined;
  const { offset, length } = range ?? { offset: 0, length: info.size };
  const answer: RouteResponse = {
    status: range === undefined ? 200 : 206,
    headers: {
      ...sandboxBytes,
      "content-disposition": attachment(file.split("/").at(-1) ?? ""),
      "accept-ranges": "bytes",
      "content-length": length,
      "last-modified": new Date(info.mtimeMs).toUTCString(),
      ...(range === undefined ? {} : { "content-range": `bytes ${offset}-${offset + length - 1}/${info.size}` }),
    },
  };
  return { answer, offset, length };
}

/**
 * Exactly so many bytes: a file that became shorter meanwhile breaks the answer off. The last piece waits for the source's
 * end: a client that has all bytes may use its connection again, which an error after them would close.
 */
async function* exactly(bytes: AsyncIterable<Buffer>, length: number): AsyncIterable<Buffer> {
  let left = length;
  let held: Buffer | undefined;
  for await (const piece of bytes) {
    left -= piece.length;
    if (held !== undefined) yield held;
    held = piece;
  }
  if (left !== 0) throw new AppError("conflict", "the file changed while it was read");
  if (held !== undefined) yield held;
}

export function getFile(fleet: Fleet<Sandbox>, call: FileCall): Promise<RouteResponse> {
  return download(fleet, call, async (sandbox) => {
    const file = call.params.path;
    const { answer, offset, length } = await describe(sandbox, file, call.request.headers);
    call.record({ type: "file.read", sandboxId: sandbox.id, data: { path: file, kind: "content" } });
    // A length of 0 would mean all there is.
    const bytes = length === 0 ? nothing() : exactly(sandbox.files.read(file, { offset, length }), length);
    return { answer, bytes };
  });
}

async function* nothing(): AsyncIterable<Buffer> {}

export async function putFile(
  fleet: Fleet<Sandbox>,
  call: FileCall,
  upload: Upload,
  mode?: number,
): Promise<RouteResponse> {
  const {
    caller,
    record,
    params: { id, path: file },
  } = call;
  const release = call.openStream();
  try {
    await fleet.use(caller, id, (sandbox) => sandbox.files.write(file, upload, mode));
    record({ type: "file.written", sandboxId: id, data: { path: file, ...upload.describe() } });
    return { status: 204 };
  } finally {
    release();
  }
}

export function fileRoutes(fleet: Fleet<Sandbox>): Route[] {
  return [
    defineRoute({
      method: "PUT",
      path,
      tag,
      summary: "Writes a file; creates missing parent folders",
      scope: "use",
      audit: ["file.written"],
      params,
      query: z.strictObject({
        mode: z
          .string()
          .regex(/^0?[0-7]{3}$/)
          .optional()
          .describe("permission bits in octal, such as 755"),
      }),
      raw: ["application/octet-stream", "*/*"],
      bodyOptional: true,
      responses: { 204: { description: "the file is written completely" } },
      handler: async (call) => {
        const { mode } = call.query;
        return putFile(fleet, call, new Upload(call.body), mode === undefined ? undefined : Number.parseInt(mode, 8));
      },
    }),
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Returns the content of a file, or a range of it",
      scope: "read",
      audit: ["file.read"],
      params,
      responses: answers,
      handler: (call) => getFile(fleet, call),
    }),
    defineRoute({
      method: "HEAD",
      path,
      tag,
      summary: "Returns the size and modification time of a file",
      scope: "read",
      audit: null,
      params,
      responses: { 200: { description: "the file exists" }, 206: { description: "the range exists" } },
      handler: ({ caller, params: { id, path: file }, request }) =>
        fleet.use(caller, id, async (sandbox) => (await describe(sandbox, file, request.headers)).answer),
    }),
    defineRoute({
      method: "DELETE",
      path,
      tag,
      summary: "Deletes a file or folder",
      scope: "use",
      audit: ["file.deleted"],
      params,
      query: z.strictObject({ recursive: writtenFlag.optional() }),
      responses: { 204: { description: "the file or folder is deleted" } },
      handler: async ({ caller, params: { id, path: file }, query, record }) => {
        const recursive = query.recursive ?? false;
        await fleet.use(caller, id, (sandbox) => sandbox.files.remove(file, { recursive }));
        record({ type: "file.deleted", sandboxId: id, data: { path: file, recursive } });
        return { status: 204 };
      },
    }),
  ];
}

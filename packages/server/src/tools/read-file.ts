import { z } from "zod";
import { sessionLimits } from "../core/session-limits.ts";
import { filePath } from "../schemas/sandbox.ts";
import { existingSession, sessionId, where, whereOf } from "./session.ts";
import { textOf } from "./text-of.ts";
import { defineTool } from "./tool.ts";

const { readBytes } = sessionLimits;

export const readFile = defineTool({
  name: "read_file",
  title: "Read a file",
  sets: ["core", "files"],
  permission: "read",
  description: [
    "Reads a file of your sandbox, or a part of it: paths are relative to /workspace, or absolute in /workspace, /home/user and /tmp.",
    "Comes back: content as text, or in base64 when encoding says so (the bytes are no text), size_bytes of the whole file, and next_offset when there is more: go on from there.",
    "For large files search_files or code in execute_code is better than reading everything.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    path: filePath.min(1),
    offset: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0).describe("in bytes, from its start"),
    max_bytes: z.number().int().min(1).max(readBytes.max).default(readBytes.default),
    session_id: sessionId,
  }),
  output: z.object({
    content: z.string(),
    encoding: z.enum(["utf8", "base64"]),
    path: z.string(),
    size_bytes: z.number(),
    offset: z.number(),
    next_offset: z.number().nullable().describe("null: this was the end"),
    ...where,
  }),
  run: async (call, { path, offset, max_bytes, session_id }) => {
    const record = await existingSession(call, session_id);
    const found = await call.parts.fleet.use(call.caller, record.id, async ({ files }) => {
      const { size } = await files.stat(path);
      const pieces: Buffer[] = [];
      for await (const piece of files.read(path, { offset, length: max_bytes })) pieces.push(piece);
      return { size, bytes: Buffer.concat(pieces) };
    });
    const { size, bytes } = found;
    const text = textOf(bytes, offset + bytes.length < size);
    const read = text === undefined ? bytes.length : Buffer.byteLength(text);
    const next = offset + read;
    return {
      structured: {
        path,
        content: text ?? bytes.toString("base64"),
        encoding: text === undefined ? ("base64" as const) : ("utf8" as const),
        size_bytes: size,
        offset,
        next_offset: next < size ? next : null,
        ...whereOf(record),
      },
    };
  },
});

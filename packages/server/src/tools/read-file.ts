import { z } from "zod";
import type { ReadOptions } from "../core/file.ts";
import { filePath } from "../schemas/sandbox.ts";
import { existingSession, sessionId, where, whereOf } from "./session.ts";
import { sessionLimits } from "./session-limits.ts";
import { textOf } from "./text-of.ts";
import { defineTool, type ToolCall } from "./tool.ts";

const { readBytes } = sessionLimits;

export const readFile = defineTool({
  name: "read_file",
  title: "Read a file",
  sets: ["core", "files"],
  scope: "read",
  description: [
    "Reads a file of your sandbox, or a part of it. Paths are relative to /workspace, or absolute in /workspace, /home/user and /tmp.",
    "With snapshot_id it reads the file from that snapshot of the workspace.",
    "Returns content as text, or in base64 (see encoding) if the bytes are not text; size_bytes of the whole file; and next_offset if there is more: continue from there.",
    "For large files use search_files or code in execute_code.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    path: filePath.min(1),
    offset: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0).describe("in bytes, from the start"),
    max_bytes: z.number().int().min(1).max(readBytes.max).default(readBytes.default),
    snapshot_id: z.string().min(1).max(64).optional().describe("from list_state_snapshots"),
    session_id: sessionId,
  }),
  output: z.object({
    content: z.string(),
    encoding: z.enum(["utf8", "base64"]),
    path: z.string(),
    size_bytes: z.number(),
    offset: z.number(),
    next_offset: z.number().nullable().describe("null: end of the file"),
    ...where,
  }),
  run: async (call, { path, offset, max_bytes, snapshot_id, session_id }) => {
    const range = { offset, length: max_bytes };
    const { size, bytes, from } =
      snapshot_id === undefined
        ? await readLive(call, session_id, path, range)
        : await readStored(call, session_id, snapshot_id, path, range);
    await call.parts.journal.record({
      ...{ type: "file.read", by: call.caller, sandboxId: from.sandbox_id },
      data: snapshot_id === undefined ? { path, kind: "content" } : { path, kind: "snapshot", snapshot_id },
    });
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
        ...from,
      },
    };
  },
});

interface Found {
  size: number;
  bytes: Buffer;
  from: ReturnType<typeof whereOf>;
}

async function readLive(call: ToolCall, session: string | undefined, path: string, range: ReadOptions): Promise<Found> {
  const record = await existingSession(call, session);
  return call.parts.fleet.use(call.caller, record.id, async ({ files }) => {
    const { size } = await files.stat(path);
    const pieces = await Array.fromAsync(files.read(path, range));
    return { size, bytes: Buffer.concat(pieces), from: whereOf(record) };
  });
}

/** A snapshot outlives its sandbox, so none is needed to read it. */
async function readStored(
  { caller, parts, session }: ToolCall,
  session_id = session,
  snapshot: string,
  path: string,
  range: ReadOptions,
): Promise<Found> {
  const { sandboxId } = await parts.snapshots.get(caller, snapshot);
  const { sizeBytes, bytes } = await parts.snapshots.read(caller, snapshot, path, range);
  const pieces = await Array.fromAsync(bytes);
  return { size: sizeBytes, bytes: Buffer.concat(pieces), from: { session_id, sandbox_id: sandboxId } };
}

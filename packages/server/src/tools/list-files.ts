import { z } from "zod";
import { fileInfo, showFileInfo } from "../schemas/file.ts";
import { filePath } from "../schemas/sandbox.ts";
import { existingSession, sessionId, where, whereOf } from "./session.ts";
import { sessionLimits } from "./session-limits.ts";
import { defineTool } from "./tool.ts";

const { entries } = sessionLimits;

export const listFiles = defineTool({
  name: "list_files",
  title: "List files",
  sets: ["core", "files"],
  scope: "read",
  description: [
    "Lists a folder of your sandbox (default: /workspace) with sizes and times.",
    "Use it before you read files or after code has run; search_files finds files by name or text.",
    "Returns sorted names; truncated is true if there are more than limit.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    path: filePath.min(1).default("/workspace"),
    recursive: z.boolean().default(false),
    limit: z.number().int().min(1).max(entries.max).default(entries.default),
    session_id: sessionId,
  }),
  output: z.object({ files: z.array(fileInfo), path: z.string(), truncated: z.boolean(), ...where }),
  run: async (call, { path, recursive, limit, session_id }) => {
    const record = await existingSession(call, session_id);
    const found = await call.parts.fleet.use(call.caller, record.id, ({ files }) => files.list(path, { recursive }));
    const sorted = found.sort((left, right) => (left.name < right.name ? -1 : 1));
    const files = sorted.slice(0, limit).map(showFileInfo);
    return { structured: { path, files, truncated: files.length < found.length, ...whereOf(record) } };
  },
});

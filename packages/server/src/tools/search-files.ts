import { z } from "zod";
import type { SearchMatch } from "../core/search.ts";
import { defined } from "../lib/defined.ts";
import { searchLimits } from "../sandboxes/limits.ts";
import { searchMatch } from "../schemas/file.ts";
import { filePath } from "../schemas/sandbox.ts";
import { existingSession, sessionId, where, whereOf } from "./session.ts";
import { sessionLimits } from "./session-limits.ts";
import { defineTool } from "./tool.ts";

const { entries } = sessionLimits;

export const searchFiles = defineTool({
  name: "search_files",
  title: "Search files",
  sets: ["files"],
  scope: "read",
  description: [
    "Searches the files of your sandbox by name (a glob such as *.py), by text (literal, within a line), or both.",
    "Returns paths relative to the folder; for text also line, column and the line's content. truncated: a limit ended the search.",
    "If it is truncated, narrow it with path and name.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    path: filePath.min(1).default("/workspace"),
    name: z.string().min(1).max(1024).optional().describe("a glob"),
    text: z.string().min(1).max(searchLimits.textBytes).optional(),
    ignore_case: z.boolean().default(false),
    limit: z.number().int().min(1).max(entries.max).default(entries.default),
    session_id: sessionId,
  }),
  output: z.object({ matches: z.array(searchMatch), files_read: z.number(), truncated: z.boolean(), ...where }),
  run: async (call, { path, name, text, ignore_case: ignoreCase, limit, session_id }) => {
    const record = await existingSession(call, session_id);
    const found = await call.parts.fleet.use(call.caller, record.id, async ({ files }) => {
      const told = files.search(path, { ignoreCase, limit, ...defined({ name, text }) });
      const matches: SearchMatch[] = [];
      for await (const one of told) matches.push(one);
      return { matches, files_read: told.summary?.filesRead ?? 0, truncated: told.summary?.truncated ?? true };
    });
    const data = { path, kind: "search", files: found.files_read } as const;
    if (text !== undefined)
      await call.parts.journal.record({ type: "file.read", by: call.caller, sandboxId: record.id, data });
    return { structured: { ...found, ...whereOf(record) } };
  },
});

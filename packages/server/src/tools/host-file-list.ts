import { z } from "zod";
import { hostPath } from "./host-path.ts";
import { defineTool } from "./tool.ts";

export const hostFileList = defineTool({
  name: "host_file_list",
  title: "List a folder of the host",
  sets: ["host"],
  scope: "use",
  description: [
    "Lists a folder on the host machine: name, type, size, time of the last change. Up to 1,000 entries, sorted by name; links are not followed.",
    "Only in folders that list_host_access lists.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ path: hostPath }),
  output: z.object({
    path: z.string(),
    entries: z.array(
      z.object({
        name: z.string(),
        type: z.enum(["file", "folder", "link", "other"]),
        size_bytes: z.number(),
        modified_at: z.iso.datetime(),
      }),
    ),
    truncated: z.boolean().describe("output truncated"),
  }),
  run: async ({ caller, parts }, { path }) => ({
    structured: { path, ...(await parts.host.listFolder(caller, path)) },
  }),
});

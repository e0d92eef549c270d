import { z } from "zod";
import { AppError } from "../core/errors.ts";
import { fileEncoding, hostPath } from "./host-path.ts";
import { defineTool } from "./tool.ts";

export const hostFileWrite = defineTool({
  name: "host_file_write",
  title: "Write a file of the host",
  sets: ["host"],
  scope: "use",
  description: [
    "Writes a whole file on the host machine; an existing file is replaced and keeps its mode. The folder must exist.",
    "Only in folders that list_host_access shows as read-write, and not through links.",
    "For files of your task use the sandbox's workspace.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    path: hostPath,
    content: z.string().describe("the complete content"),
    encoding: fileEncoding.default("utf-8"),
  }),
  output: z.object({
    path: z.string(),
    size_bytes: z.number().int(),
    created: z.boolean().describe("false: an existing file was replaced"),
  }),
  run: async ({ caller, parts }, { path, content, encoding }) => {
    const bytes = Buffer.from(content, encoding);
    // Node passes over what is no Base64.
    if (encoding === "base64" && unpadded(bytes.toString("base64")) !== unpadded(content))
      throw new AppError("invalid", "the content is no Base64");
    const { created } = await parts.host.writeFile(caller, path, bytes);
    return { structured: { path, size_bytes: bytes.length, created } };
  },
});

/** Not by an expression: one that looks for the end of a run takes the square of its length. */
function unpadded(text: string): string {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return text.slice(0, text.length - padding);
}

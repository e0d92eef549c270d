import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { fileEncoding, hostPath } from "./host-path.ts";
import { defineTool } from "./tool.ts";

export const hostFileRead = defineTool({
  name: "host_file_read",
  title: "Read a file of the host",
  sets: ["host"],
  scope: "use",
  description: [
    "Returns the content of a file on the host machine as text, or as Base64 if it is not text.",
    "Only files in folders that list_host_access lists; links are resolved first. Use host_file_copy for files over 1 MB.",
    "A refusal is policy: do not try another way to the same file.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ path: hostPath }),
  output: z.object({
    content: z.string(),
    encoding: fileEncoding,
    path: z.string(),
    size_bytes: z.number().int(),
  }),
  run: async ({ caller, parts }, { path }) => {
    const { bytes, sizeBytes } = await parts.host.readFile(caller, path);
    const encoding = isUtf8(bytes) ? ("utf-8" as const) : ("base64" as const);
    return { structured: { path, content: bytes.toString(encoding), encoding, size_bytes: sizeBytes } };
  },
});

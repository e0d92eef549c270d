import { basename, posix } from "node:path";
import { z } from "zod";
import { hostPath } from "./host-path.ts";
import { sessionId, sessionOf } from "./session.ts";
import { defineTool } from "./tool.ts";

export const hostFileCopy = defineTool({
  name: "host_file_copy",
  title: "Copy a file of the host into the workspace",
  sets: ["host"],
  scope: "use",
  description: [
    "Copies a file from the host machine into your workspace, where execute_code can use it. Up to 256 MB.",
    "Only from folders that list_host_access lists; links are resolved first. The file on the host does not change.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    source: hostPath,
    destination: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe("path in the sandbox, relative to /workspace; default: the source's name"),
    session_id: sessionId,
  }),
  output: z.object({
    source: z.string(),
    path: z.string().describe("path in the sandbox"),
    size_bytes: z.number().int(),
    session_id: z.string(),
    sandbox_id: z.string(),
  }),
  run: async (call, { source, destination, session_id }) => {
    const { caller, parts } = call;
    const path = posix.resolve("/workspace", destination ?? basename(source));
    // First the host: what it refuses needs no sandbox.
    const { sizeBytes, pieces } = await parts.host.openFile(caller, source);
    const record = await sessionOf(call, session_id);
    await parts.fleet.use(caller, record.id, (sandbox) => sandbox.files.write(path, pieces));
    const data = { path, size_bytes: sizeBytes };
    await parts.journal.record({ type: "file.written", by: caller, sandboxId: record.id, data });
    const where = { session_id: record.sessionKey ?? record.id, sandbox_id: record.id };
    return { structured: { source, path, size_bytes: sizeBytes, ...where } };
  },
});

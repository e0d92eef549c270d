import { hash } from "node:crypto";
import { z } from "zod";
import { filePath } from "../schemas/sandbox.ts";
import { sessionId, sessionOf, where, whereOf } from "./session.ts";
import { sessionLimits } from "./session-limits.ts";
import { defineTool } from "./tool.ts";

export const writeFile = defineTool({
  name: "write_file",
  title: "Write a file",
  sets: ["core", "files"],
  scope: "use",
  description: [
    "Writes a whole file of your sandbox, replaces an existing one, and creates parent folders. Paths are relative to /workspace, or absolute in /workspace, /home/user and /tmp. Refused if your user cannot write the existing file.",
    "Use it for source code and text; send other bytes in base64. Write files for the user to output/.",
    "Returns size_bytes and sha256 of the written file. If the workspace is full, nothing is written and the call is refused.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    path: filePath.min(1),
    content: z.string().max(sessionLimits.writeChars),
    encoding: z.enum(["utf8", "base64"]).default("utf8"),
    executable: z.boolean().default(false),
    session_id: sessionId,
  }),
  output: z.object({ path: z.string(), size_bytes: z.number(), sha256: z.string(), ...where }),
  run: async (call, { path, content, encoding, executable, session_id }) => {
    const record = await sessionOf(call, session_id);
    const bytes = Buffer.from(content, encoding);
    const mode = executable ? 0o755 : 0o644;
    await call.parts.fleet.use(call.caller, record.id, ({ files }) => files.write(path, bytes, mode));
    const written = { path, size_bytes: bytes.length, sha256: hash("sha256", bytes) };
    await call.parts.journal.record({ type: "file.written", by: call.caller, sandboxId: record.id, data: written });
    return { structured: { ...written, ...whereOf(record) } };
  },
});

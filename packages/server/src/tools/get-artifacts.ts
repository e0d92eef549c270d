import { z } from "zod";
import { AppError } from "../core/errors.ts";
import { artifact, manifest } from "../schemas/artifact.ts";
import { filePath } from "../schemas/sandbox.ts";
import { existingSession, sessionId, where, whereOf } from "./session.ts";
import { sessionLimits } from "./session-limits.ts";
import { defineTool } from "./tool.ts";

export const getArtifacts = defineTool({
  name: "get_artifacts",
  title: "Get output files",
  sets: ["core", "files"],
  scope: "use",
  description: [
    "Returns the files in /workspace/output with size and SHA-256, and a manifest signed with Ed25519 that everyone can verify.",
    "Use it to give results to the user. With path it returns that file's content too, in base64, up to 4 MiB; the user downloads larger files.",
    "An empty list means that /workspace/output has no files.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    path: filePath.min(1).optional().describe("a file whose content to return, relative to /workspace/output"),
    session_id: sessionId,
  }),
  output: z.object({
    files: z.array(artifact),
    manifest,
    content_base64: z.string().optional(),
    ...where,
  }),
  run: async (call, { path, session_id }) => {
    const record = await existingSession(call, session_id);
    const found = await call.parts.fleet.use(call.caller, record.id, async ({ artifacts }) => {
      const signed = await artifacts.sign();
      if (path === undefined) return { signed };
      const listed = signed.files.find((file) => file.path === path);
      if (listed === undefined) throw new AppError("not_found", `no file '${path}' in /workspace/output`);
      if (listed.size_bytes > sessionLimits.artifactBytes)
        throw new AppError("too_large", `'${path}' has ${listed.size_bytes} bytes: too many for an answer`, {
          hint: "the user can download it, or read parts of it with read_file",
        });
      const { content_base64, sha256 } = await artifacts.read(path);
      if (sha256 !== listed.sha256) throw new AppError("conflict", `'${path}' changed while it was read`);
      return { signed, content_base64 };
    });
    const { signed, ...content } = found;
    const data = { files: signed.files.length, signature: signed.signature };
    await call.parts.journal.record({ type: "artifact.signed", by: call.caller, sandboxId: record.id, data });
    if (path !== undefined)
      await call.parts.journal.record({
        ...{ type: "file.read", by: call.caller, sandboxId: record.id },
        data: { path, kind: "artifact" },
      });
    return { structured: { files: signed.files, manifest: signed, ...content, ...whereOf(record) } };
  },
});

import { z } from "zod";
import { shownPath } from "../core/tree.ts";
import { skillLimits } from "../sandboxes/snapshot-limits.ts";
import { filePath } from "../schemas/sandbox.ts";
import { skillReference } from "../schemas/skill.ts";
import { sessionLimits } from "./session-limits.ts";
import { textOf } from "./text-of.ts";
import { defineTool } from "./tool.ts";

const { readBytes, skillFiles } = sessionLimits;

export const readSkill = defineTool({
  name: "read_skill",
  title: "Read a skill",
  sets: ["files"],
  scope: "read",
  description: [
    "Reads SKILL.md or another file of a skill without installing it. The text is by the author of the skill.",
    "Returns content as text or base64 (see encoding), next_offset if there is more, and files: the other files of the skill.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    skill: skillReference,
    path: filePath.min(1).default("SKILL.md"),
    offset: z.number().int().min(0).max(skillLimits.bytes).default(0).describe("in bytes, from the start"),
    max_bytes: z.number().int().min(1).max(readBytes.max).default(readBytes.default),
  }),
  output: z.object({
    content: z.string(),
    encoding: z.enum(["utf8", "base64"]),
    name: z.string(),
    version: z.string(),
    digest: z.string(),
    path: z.string(),
    size_bytes: z.number(),
    next_offset: z.number().nullable().describe("null: end of the file"),
    files: z.array(z.string()),
    files_truncated: z.boolean(),
  }),
  run: async ({ caller, parts }, { skill, path, offset, max_bytes }) => {
    const { record, sizeBytes, bytes } = await parts.skills.read(caller, skill, path);
    const part = await rangeOf(bytes, offset, max_bytes);
    const all = (await parts.skills.files(caller, record.id)).filter(({ type }) => type !== "directory");
    const text = textOf(part, offset + part.length < sizeBytes);
    const next = offset + (text === undefined ? part.length : Buffer.byteLength(text));
    return {
      structured: {
        name: record.name,
        version: record.version,
        digest: `sha256:${record.id}`,
        path,
        content: text ?? part.toString("base64"),
        encoding: text === undefined ? ("base64" as const) : ("utf8" as const),
        size_bytes: sizeBytes,
        next_offset: part.length > 0 && next < sizeBytes ? next : null,
        files: all.slice(0, skillFiles).map((entry) => shownPath(entry.path)),
        files_truncated: all.length > skillFiles,
      },
    };
  },
});

async function rangeOf(bytes: AsyncIterable<Buffer>, offset: number, length: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let at = 0;
  for await (const piece of bytes) {
    pieces.push(piece.subarray(Math.max(0, offset - at), Math.max(0, offset + length - at)));
    at += piece.length;
    if (at >= offset + length) break;
  }
  return Buffer.concat(pieces);
}

import { isUtf8 } from "node:buffer";
import { type ListResourcesCallback, ResourceTemplate } from "@modelcontextprotocol/server";
import { AppError } from "../../core/errors.ts";
import { mediaTypeOf } from "../../lib/media-type.ts";
import { findSession } from "../../tools/find-session.ts";
import { toolLimits } from "../../tools/limits.ts";
import { readWorkspaceUri, workspaceTemplate, workspaceUri } from "../../tools/workspace-uri.ts";
import type { Reading } from "./resource.ts";

export const files = {
  name: "files",
  title: "Workspace files",
  description: "A file in a session's /workspace. Name the session by its session_id or by the id of its sandbox.",
};

/** The template, with a list of the files of the reader's own session. */
export function filesTemplate(list: ListResourcesCallback): ResourceTemplate {
  return new ResourceTemplate(workspaceTemplate, { list });
}

interface FileResource {
  uri: string;
  name: string;
  size: number;
  mimeType?: string;
}

/** Of a sandbox that runs: to look at what is there starts none. */
export async function listFiles({ caller, session, mcp: { parts } }: Reading): Promise<FileResource[]> {
  const record = await findSession({ caller, parts }, session);
  if (record?.status !== "running") return [];
  const found = await parts.fleet.use(caller, record.id, (sandbox) => sandbox.files.list("", { recursive: true }));
  const names = found.filter(({ type, name }) => type === "file" && !name.includes("\ufffd"));
  return names.slice(0, toolLimits.listedFiles).map(({ name, size }) => {
    const mimeType = mediaTypeOf(name);
    return { uri: workspaceUri({ session, path: name }), name, size, ...(mimeType && { mimeType }) };
  });
}

type FileContents = { uri: string; mimeType: string } & ({ text: string } | { blob: string });

export async function readFile({ caller, mcp: { parts } }: Reading, uri: string): Promise<FileContents> {
  const { session, path } = readWorkspaceUri(uri);
  const record = await findSession({ caller, parts }, session);
  if (record === undefined) throw new AppError("not_found", "unknown session");
  parts.journal.requireRoom(caller.principal);
  const bytes = await parts.fleet.use(caller, record.id, async (sandbox) => {
    const most = toolLimits.resourceBytes;
    const pieces: Buffer[] = [];
    let size = 0;
    for await (const piece of sandbox.files.read(path, { length: most + 1 })) {
      pieces.push(piece);
      size += piece.length;
      if (size > most)
        throw new AppError("too_large", `the file is too large (limit: ${most} bytes)`, {
          hint: "read parts of it with code, or download it: GET /api/v1/sandboxes/{id}/files/{path}",
        });
    }
    return Buffer.concat(pieces);
  });
  const { journal } = parts;
  await journal.record({ type: "file.read", by: caller, sandboxId: record.id, data: { path, kind: "content" } });
  const named = mediaTypeOf(path);
  if (isUtf8(bytes) && !bytes.includes(0)) return { uri, mimeType: named ?? "text/plain", text: bytes.toString() };
  return { uri, mimeType: named ?? "application/octet-stream", blob: bytes.toString("base64") };
}

import { isUtf8 } from "node:buffer";
import type { FileChange } from "../core/engine.ts";
import type { SandboxFiles } from "../core/file.ts";
import { mediaTypeOf } from "../lib/media-type.ts";
import { toolLimits } from "./limits.ts";
import type { ToolContent } from "./tool.ts";
import { workspaceUri } from "./workspace-uri.ts";

const folder = "output/";

/** How each kind of image begins; what only has the name of one is none. */
const beginnings: Readonly<Record<string, (bytes: Buffer) => boolean>> = {
  "image/png": (bytes) => bytes.subarray(0, 8).toString("latin1") === "\x89PNG\r\n\x1a\n",
  "image/jpeg": (bytes) => bytes.subarray(0, 3).toString("latin1") === "\xff\xd8\xff",
  "image/gif": (bytes) => /^GIF8[79]a/.test(bytes.subarray(0, 6).toString("latin1")),
  "image/webp": (bytes) => /^RIFF....WEBP/s.test(bytes.subarray(0, 12).toString("latin1")),
  "image/svg+xml": (bytes) => isUtf8(bytes) && bytes.includes("<svg"),
};

/** What a run left in /workspace/output, for whoever called: images as such, the rest, and what is too large, as links. */
export async function showFiles(
  files: Pick<SandboxFiles, "read">,
  session: string,
  changes: readonly FileChange[],
): Promise<ToolContent[]> {
  const images: ToolContent[] = [];
  const links: ToolContent[] = [];
  for (const { path, action, size_bytes: size, sha256 } of changes) {
    // Without a hash it is no regular file; a name that is no text leads nowhere.
    if (action === "deleted" || sha256 === null || !path.startsWith(folder) || path.includes("\ufffd")) continue;
    const mimeType = mediaTypeOf(path);
    const mayShow = mimeType !== undefined && mimeType in beginnings && size <= toolLimits.imageBytes;
    const image = mayShow && images.length < toolLimits.images ? await readImage(files, path, mimeType) : undefined;
    if (image !== undefined) images.push(image);
    else if (links.length < toolLimits.links)
      links.push({
        ...{ type: "resource_link", uri: workspaceUri({ session, path }), name: path, size },
        ...(mimeType && { mimeType }),
      });
  }
  return [...images, ...links];
}

/** It may have changed since, or be gone: then it is no image. */
async function readImage(
  files: Pick<SandboxFiles, "read">,
  path: string,
  mimeType: string,
): Promise<ToolContent | undefined> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of files.read(path, { length: toolLimits.imageBytes + 1 })) pieces.push(piece);
  } catch {
    return undefined;
  }
  return toImage(Buffer.concat(pieces), mimeType);
}

export function toImage(bytes: Buffer, mimeType: string): ToolContent | undefined {
  if (bytes.length > toolLimits.imageBytes || beginnings[mimeType]?.(bytes) !== true) return undefined;
  return { type: "image", mimeType, data: bytes.toString("base64") };
}

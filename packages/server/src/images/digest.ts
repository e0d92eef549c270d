import { createHash } from "node:crypto";
import type { ImageSpec } from "../core/image-spec.ts";

/** Digest of what a specification says, whatever its order and its comments. */
export function digestOf(spec: ImageSpec): string {
  const { description: _, ...content } = spec;
  return `sha256:${createHash("sha256").update(JSON.stringify(content)).digest("hex")}`;
}

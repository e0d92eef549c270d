import { z } from "zod";
import { artifactLimits } from "../sandboxes/limits.ts";

export const artifact = z
  .object({ path: z.string(), size_bytes: z.number(), sha256: z.string() })
  .meta({ id: "Artifact" });

export const manifest = z
  .object({
    version: z.literal(1),
    sandbox_id: z.string(),
    signed_at: z.string(),
    files: z.array(artifact).max(artifactLimits.files),
    signature: z.string(),
  })
  .meta({ id: "Manifest" });

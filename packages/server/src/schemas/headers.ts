import { z } from "zod";
import { httpLimits } from "../http/limits.ts";
import { priority } from "./sandbox.ts";
import { written } from "./written.ts";

/** Headers that a request may have, as the door checks them and the document shows them. */
export const requestHeaders = {
  namespace: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/)
    .describe("act in this namespace (administrators only)"),
  priority: written(priority).describe("priority among the namespace's waiting jobs"),
  idempotencyKey: z
    .string()
    .regex(/^[!-~]+$/)
    .max(httpLimits.idempotencyKeyChars)
    .describe("a repeated request with the same key gets the same response"),
} as const;

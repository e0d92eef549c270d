import { z } from "zod";
import { httpLimits } from "../http/limits.ts";
import { priority } from "./sandbox.ts";
import { written } from "./written.ts";

/** Headers that a request may have, as the door checks them and the document shows them. */
export const requestHeaders = {
  namespace: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/)
    .describe("for administrators: act in this namespace"),
  priority: written(priority).describe("which of the namespace's jobs that wait goes first"),
  idempotencyKey: z
    .string()
    .regex(/^[!-~]+$/)
    .max(httpLimits.idempotencyKeyChars)
    .describe("the same key and request get the same answer"),
} as const;

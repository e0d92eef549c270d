import { z } from "zod";
import { errorCodes } from "../core/errors.ts";

/** RFC 9457; `type` is beside these. */
export const problemFields = {
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  code: z.enum(errorCodes),
  hint: z.string().optional(),
  request_id: z.string(),
  retry_after: z.number().int().optional().describe("seconds"),
  details: z.record(z.string(), z.unknown()).optional(),
};

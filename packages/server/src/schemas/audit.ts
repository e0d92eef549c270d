import { z } from "zod";

export const auditRow = z
  .object({
    position: z.number().describe("in the timeline of the whole store"),
    sequence: z.number().describe("in the chain of its namespace"),
    at: z.iso.datetime(),
    type: z.string(),
    namespace: z.string(),
    actor: z.string(),
    sandbox_id: z.string().nullable(),
    request_id: z.string().nullable(),
    run_id: z.string().nullable(),
    detail: z.record(z.string(), z.unknown()),
    hash: z.string(),
  })
  .meta({ id: "AuditRow" });

import { z } from "zod";

export const auditRow = z
  .object({
    sequence: z.number(),
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

import { z } from "zod";
import { written } from "./written.ts";

export const auditPosition = z.strictObject({
  position: written(z.number().int().min(1)).describe("of the entry, as the list has it"),
});

export const auditContent = z
  .object({
    kind: z.enum(["redacted", "full"]).describe("redacted: without values of secrets; full: as it was"),
    arguments: z.string().describe("JSON; cut where it was longer than 64 KiB"),
    result: z.string().describe("likewise; of a call that failed, its error"),
    truncated: z.boolean(),
  })
  .meta({ id: "AuditContent" });

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

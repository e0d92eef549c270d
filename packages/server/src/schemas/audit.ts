import { z } from "zod";
import { written } from "./written.ts";

export const auditPosition = z.strictObject({
  position: written(z.number().int().min(1)).describe("position of the entry in the list"),
});

export const auditContent = z
  .object({
    kind: z.enum(["redacted", "full"]).describe("redacted: secrets are masked; full: unchanged"),
    arguments: z.string().describe("JSON, cut after 64 KiB"),
    result: z.string().describe("JSON, cut after 64 KiB; the error of a failed call"),
    truncated: z.boolean(),
  })
  .meta({ id: "AuditContent" });

export const auditRow = z
  .object({
    position: z.number().describe("position in the audit log of all namespaces"),
    sequence: z.number().describe("position in the chain of the namespace"),
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

import { z } from "zod";
import { egressLayers } from "../core/egress.ts";
import type { LoggedAttempt } from "../core/egress-policies.ts";

export const verdicts = ["allowed", "denied", "failed"] as const;

export const attempt = z
  .object({
    id: z.string(),
    sandbox_id: z.string(),
    host: z.string(),
    port: z.number(),
    address: z.string().nullable().describe("IP address that the daemon connected to"),
    verdict: z.enum(verdicts),
    rule: z.string().nullable(),
    layer: z.enum(egressLayers).nullable(),
    reason: z.string().nullable(),
    approval_id: z.string().nullable(),
    bytes_up: z.number(),
    bytes_down: z.number(),
    started_at: z.iso.datetime(),
    duration_ms: z.number().nullable().describe("null while the connection is open"),
  })
  .meta({ id: "EgressAttempt" });

export function showAttempt(one: LoggedAttempt): z.output<typeof attempt> {
  return {
    id: one.id,
    sandbox_id: one.sandboxId,
    host: one.host,
    port: one.port,
    address: one.address,
    verdict: one.verdict,
    rule: one.rule,
    layer: one.layer,
    reason: one.reason,
    approval_id: one.approvalId,
    bytes_up: one.bytesUp,
    bytes_down: one.bytesDown,
    started_at: new Date(one.startedAtMs).toISOString(),
    duration_ms: one.durationMs,
  };
}

import type { ApprovalSettings } from "../core/approval.ts";
import type { Configuration } from "./config.ts";

/** Approval settings in internal units. */
export function approvalOptions({ settings }: Configuration): ApprovalSettings {
  const timeoutMs = Math.round(settings["approvals.expire_seconds"] * 1000);
  return {
    attended: settings["approvals.attended"],
    timeoutMs,
    holdMs: Math.min(timeoutMs, Math.round(settings["approvals.wait_seconds"] * 1000)),
  };
}

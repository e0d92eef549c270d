import type { Approval, ApprovalScope, Decision } from "../core/approval.ts";
import { scopesFor } from "../core/approval-kinds.ts";
import { AppError } from "../core/errors.ts";
import { approvalLimits } from "./limits.ts";

/** How far a decision reaches, when it may be made about that question. */
export function scopeOf({ id, kind, sandboxId }: Approval, { scope = "once", reason = "" }: Decision): ApprovalScope {
  const scopes = scopesFor(kind, sandboxId);
  if (!scopes.includes(scope))
    throw new AppError("invalid", `approval ${id} concerns the whole namespace`, {
      hint: `answer it with the scope ${scopes.join(" or ")}`,
    });
  if (reason.length > approvalLimits.reasonChars)
    throw new AppError("too_large", `the reason is too long (limit: ${approvalLimits.reasonChars} characters)`);
  return scope;
}

export function settledAlready({ id, state }: Approval): AppError {
  const how = state === "pending" ? "is being decided" : `is ${state}`;
  return new AppError("conflict", `approval ${id} ${how}`, { details: { approval_id: id, state } });
}

/** Whether it still lets something through, or keeps it from being asked. */
export function holds({ state, scope, usedAtMs, revokedAtMs }: Approval): boolean {
  if (revokedAtMs !== null || (state !== "approved" && state !== "denied")) return false;
  return scope === "once" ? state === "approved" && usedAtMs === null : true;
}

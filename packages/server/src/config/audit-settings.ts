import { contentPolicies } from "../core/audit.ts";
import { auditLimits } from "../store/limits.ts";
import { inMb } from "./units.ts";

/** Settings of the audit log. */
export const auditSettings = {
  audit: {
    type: "choice",
    choices: ["memory", "sqlite"],
    default: "sqlite",
    env: "CAISSON_AUDIT",
    help: "storage of the audit log; memory is only for the library and caisson run",
  },
  audit_days: {
    type: "number",
    range: auditLimits.days,
    env: "CAISSON_AUDIT_DAYS",
    help: "days after which audit entries are deleted",
  },
  audit_namespace_mb: {
    type: "number",
    range: inMb(auditLimits.namespaceBytes),
    env: "CAISSON_AUDIT_NAMESPACE_MB",
    help: "size limit of a namespace's audit entries, in MB; past it the oldest are deleted, and new work is refused where all are from the last day",
  },
  audit_content: {
    type: "choice",
    choices: contentPolicies,
    default: "none",
    env: "CAISSON_AUDIT_CONTENT",
    help: "arguments and results of tool calls that the audit log keeps: none, redacted (without secrets) or full (only administrators read them)",
  },
  audit_content_days: {
    type: "number",
    range: auditLimits.contentDays,
    env: "CAISSON_AUDIT_CONTENT_DAYS",
    help: "days after which arguments and results of tool calls are erased; their entries stay",
  },
} as const;

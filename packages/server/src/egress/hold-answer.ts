import type { ApprovalEffects } from "../core/approval.ts";
import { AppError } from "../core/errors.ts";
import type { PolicyChange } from "./change-policy.ts";
import type { PolicyDesk } from "./policy-desk.ts";

type Effect = NonNullable<ApprovalEffects["egress"]>;

/** An answer about a name that holds for longer is a rule of the policy: of the sandbox, or of the namespace. */
export function holdAnswers(desk: PolicyDesk): Effect {
  return {
    async hold({ detail, sandboxId }, { approve, scope }, by) {
      const { host, port } = detail;
      if (typeof host !== "string" || typeof port !== "number")
        throw new AppError("invalid", "this question names no host and port", { hint: "Answer it for once." });
      const change: PolicyChange = { add: { [approve ? "allow" : "deny"]: [{ host, port }] } };
      if (scope === "always") await desk.holdInNamespace(by, change);
      else if (sandboxId !== null) await desk.holdInSandbox(by, sandboxId, change);
      else throw new AppError("invalid", "this question is of no sandbox", { hint: "Answer it for always." });
    },
  };
}

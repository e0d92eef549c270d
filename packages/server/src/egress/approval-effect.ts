import type { Approval, ApprovalEffect, ApprovalScope, Question } from "../core/approval.ts";
import type { Destination, EgressVerdict } from "../core/egress.ts";
import { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";
import { defined } from "../lib/defined.ts";
import type { ActivePolicies } from "./active-policies.ts";
import type { PolicyChange } from "./change-policy.ts";
import { decide } from "./decide.ts";
import type { NetworkPolicies } from "./network-policies.ts";
import { formatAllowRule } from "./rule-text.ts";

type EgressQuestion = Pick<Question, "namespace" | "sandboxId" | "detail">;

/** An answer about a name that holds for longer is a rule of the policy: of the sandbox, or of the namespace. */
export function egressApprovalEffect(network: NetworkPolicies, policies: ActivePolicies): ApprovalEffect {
  const verdictOf = (asked: EgressQuestion): EgressVerdict => {
    const { namespace, sandboxId } = asked;
    const layers = sandboxId === null ? policies.policyIn(namespace) : policies.policyOf(sandboxId);
    return decide(layers, destinationOf(asked));
  };
  const change = async (
    { sandboxId }: Approval,
    scope: ApprovalScope,
    by: Caller,
    what: PolicyChange,
  ): Promise<void> => {
    if (scope === "always") await network.changeNamespacePolicy(by, what);
    else if (sandboxId !== null)
      await network.holdInSandbox({ ...by, ...defined({ serverId: network.serverOf(sandboxId) }) }, sandboxId, what);
    else throw new AppError("invalid", "this approval request is not for a sandbox", { hint: "use the scope always" });
  };
  return {
    known(question) {
      if (!policies.enabled) return { approve: false, reason: "the network is turned off here" };
      const verdict = verdictOf(question);
      if (verdict.action === "allow")
        return { approve: true, reason: `the rule ${formatAllowRule(verdict.rule)} allows it already` };
      return verdict.action === "deny" && verdict.rule !== null
        ? { approve: false, reason: verdict.reason }
        : undefined;
    },

    check(approval, { approve, scope }) {
      if (!approve) return;
      const verdict = verdictOf(approval);
      if (verdict.action === "deny" && verdict.rule !== null)
        throw without(approval, verdict.reason, "take that rule out");
      if (scope === "once" && verdict.action === "deny")
        throw without(
          approval,
          "unknown names are not asked about there",
          "approve it with the scope sandbox or always",
        );
    },

    hold(approval, { approve, scope }, by) {
      return change(approval, scope, by, { add: { [approve ? "allow" : "deny"]: [destinationOf(approval)] } });
    },

    async release(approval, { approve, scope }, by) {
      const { host, port } = destinationOf(approval);
      const text = `${host.includes(":") ? `[${host}]` : host}:${port}`;
      await change(approval, scope, by, { remove: { [approve ? "allow" : "deny"]: [text] } }).catch(
        (error: unknown) => {
          if (!(error instanceof AppError && error.code === "not_found")) throw error;
        },
      );
    },
  };
}

function destinationOf({ detail: { host, port } }: Pick<Question, "detail">): Destination {
  if (typeof host === "string" && typeof port === "number") return { host, port };
  throw new AppError("invalid", "this approval request has no host and port");
}

function without({ id }: Approval, why: string, hint: string): AppError {
  return new AppError("conflict", `approval ${id} would have no effect: ${why}`, { hint });
}

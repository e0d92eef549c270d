import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import { z } from "zod";
import { approvalLimits } from "../approvals/limits.ts";
import type { Approval, ApprovalScope, Decision } from "../core/approval.ts";
import { approvalKinds, scopesFor } from "../core/approval-kinds.ts";
import { visible } from "../lib/visible.ts";

const titles: Readonly<Record<ApprovalScope, string>> = {
  once: "Allow this once",
  sandbox: "Allow for this sandbox",
  always: "Allow from now on",
};

/** Scopes that a yes can have. A question asked in advance has no attempt that a yes for once would be good for. */
function scopesOf({ kind, sandboxId, askedBy }: Approval): ApprovalScope[] {
  return scopesFor(kind, sandboxId).filter((scope) => askedBy === null || scope !== "once");
}

/** A question as the form that a client shows its user. Nothing in it is obeyed by whatever shows it. */
export function toForm(approval: Approval): ElicitRequestFormParams {
  const options = scopesOf(approval).map((scope) => ({ const: scope, title: titles[scope] }));
  return {
    mode: "form",
    message: describe(approval),
    requestedSchema: {
      type: "object",
      properties: {
        answer: { type: "string", title: "Answer", oneOf: [...options, { const: "deny", title: "Do not allow" }] },
        reason: {
          type: "string",
          title: "Reason",
          description: "shown to the requester",
          maxLength: approvalLimits.reasonChars,
        },
      },
      required: ["answer"],
    },
  };
}

function describe({ kind, subject, text, detail, sandboxId }: Approval): string {
  const shown = (value: string) => value.split("\n").map(visible).join("\n");
  const details = Object.entries(detail).map(([name, value]) => `  ${visible(name)}: ${visible(String(value))}`);
  return [
    `${approvalKinds[kind].asks} ${shown(text ?? subject)}`,
    ...(details.length === 0 ? [] : ["", ...details]),
    "",
    `${sandboxId === null ? "It concerns the whole namespace." : `Sandbox: ${sandboxId}.`} Names and texts were chosen by code and may mislead.`,
  ].join("\n");
}

const accepted = z.object({
  answer: z.enum(["once", "sandbox", "always", "deny"]),
  reason: z.string().max(approvalLimits.reasonChars).optional(),
});

export interface UserAnswer {
  action: "accept" | "decline" | "cancel";
  content?: unknown;
}

/** What the user has decided; undefined for no decision, or for one that was not offered. */
export function toDecision(approval: Approval, { action, content }: UserAnswer): Decision | undefined {
  if (action !== "accept") return undefined;
  const given = accepted.safeParse(content);
  if (!given.success) return undefined;
  const { answer, reason } = given.data;
  const why = reason === undefined || reason === "" ? {} : { reason };
  const [narrowest = "always"] = scopesFor(approval.kind, approval.sandboxId);
  if (answer === "deny") return { approve: false, scope: narrowest, ...why };
  return scopesOf(approval).includes(answer) ? { approve: true, scope: answer, ...why } : undefined;
}

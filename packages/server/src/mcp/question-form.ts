import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Approval, ApprovalScope, Decision } from "../core/approval.ts";
import { approvalLimits } from "../core/approval-limits.ts";
import { visible } from "../core/visible.ts";

const titles: Readonly<Record<ApprovalScope, string>> = {
  once: "Allow this once",
  sandbox: "Allow for this sandbox",
  always: "Allow from now on",
};

/** How far a yes can reach. Whoever asks in advance has no attempt that a yes for once would be good for. */
function scopesOf({ kind, sandboxId, askedBy }: Approval): ApprovalScope[] {
  if (kind === "host") return askedBy === null ? ["once", "always"] : ["always"];
  if (sandboxId === null) return ["always"];
  return askedBy === null ? ["once", "sandbox", "always"] : ["sandbox", "always"];
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
          description: "told to whoever asked",
          maxLength: approvalLimits.reasonChars,
        },
      },
      required: ["answer"],
    },
  };
}

const asks: Readonly<Record<Approval["kind"], string>> = {
  egress: "Code in a sandbox wants to connect to",
  upload: "Code in a sandbox wants to send data to",
  command: "This is to be run in a sandbox:",
  host: "This is to be done on the machine itself:",
};

function describe({ kind, subject, text, detail, sandboxId }: Approval): string {
  const shown = (value: string) => value.split("\n").map(visible).join("\n");
  const details = Object.entries(detail).map(([name, value]) => `  ${visible(name)}: ${visible(String(value))}`);
  return [
    `${asks[kind]} ${shown(text ?? subject)}`,
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
  const mustLast = approval.sandboxId === null && approval.kind !== "host";
  if (answer === "deny") return { approve: false, scope: mustLast ? "always" : "once", ...why };
  return scopesOf(approval).includes(answer) ? { approve: true, scope: answer, ...why } : undefined;
}

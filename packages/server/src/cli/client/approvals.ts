import type { ApprovalAnswer, ApprovalInfo, ApprovalScope, ApprovalState } from "@caisson/sdk";
import { approvalLimits } from "../../approvals/limits.ts";
import { approvalScopes, approvalStates } from "../../core/approval.ts";
import { AppError } from "../../core/errors.ts";
import { defined } from "../../lib/defined.ts";
import type { RunIo } from "../run.ts";
import { paint, visible } from "../terminal.ts";
import { tellJson, tellLine, tellTime } from "./tell.ts";
import type { Verb, VerbCall } from "./verb.ts";
import { lineVerb, tableVerb } from "./verb-kinds.ts";

/** Length of a subject in a list; `show` prints all of it. */
const shownChars = 100;

const list = tableVerb({
  summary: "list pending approval requests",
  options: {
    all: { type: "boolean", help: "include decided and expired requests" },
    state: { type: "string", value: "STATE", help: `only requests in this state: ${approvalStates.join(", ")}` },
    sandbox: { type: "string", value: "ID", help: "only requests of this sandbox" },
  },
  call: async ({ caisson, options }) => {
    const state = oneOf(approvalStates, options.text("state")) ?? (options.flag("all") ? undefined : "pending");
    const query = defined({ state, sandbox_id: options.text("sandbox") });
    return caisson.approvals.list({ limit: approvalLimits.pendingPerNamespace, ...query });
  },
  headings: ["ID", "STATE", "KIND", "SANDBOX", "ASKED", "EXPIRES", "SUBJECT"],
  rows: (found) =>
    found.map((one) => [
      ...[one.id, one.state, one.kind, one.sandbox_id ?? one.namespace, one.asked, tellTime(one.expires_at)],
      one.subject.length > shownChars ? `${one.subject.slice(0, shownChars - 1)}…` : one.subject,
    ]),
});

const show: Verb = {
  summary: "show an approval request",
  usage: "ID",
  words: [1, 1],
  run: async ({ caisson, words, io, json }) => {
    const found = await caisson.approvals.get(words[0] ?? "");
    return json ? tellJson(io, found) : tellApproval(io, found);
  },
};

const wait: Verb = {
  summary: "wait for the decision about a request; exits with 0 if it is approved",
  usage: "ID",
  words: [1, 1],
  options: {
    timeout: {
      type: "string",
      value: "SECONDS",
      help: "maximum time to wait (default: until the request is decided or expires)",
    },
  },
  run: async ({ caisson, options, words, io, json }) => {
    const seconds = options.number("timeout");
    const found = await caisson.approvals.wait(
      words[0] ?? "",
      seconds === undefined ? {} : { timeoutMs: seconds * 1000 },
    );
    if (json) tellJson(io, found);
    else tellLine(io, found.reason === null ? found.state : `${found.state}: ${found.reason}`);
    return found.state === "approved" ? 0 : 1;
  },
};

const request = lineVerb({
  summary: "request access to a domain and print the approval's id",
  usage: "HOST[:PORT]",
  options: {
    sandbox: { type: "string", value: "ID", help: "sandbox that needs access (default: the whole namespace)" },
    purpose: { type: "string", value: "TEXT", help: "reason, shown to the approver" },
  },
  call: ({ caisson, options }, subject) => {
    const [, host = "", port] = /^(.*?)(?::(\d+))?$/s.exec(subject) ?? [];
    const about = { sandbox_id: options.text("sandbox"), purpose: options.text("purpose") };
    return caisson.approvals.request({
      host,
      ...defined({ port: port === undefined ? undefined : Number(port), ...about }),
    });
  },
  line: ({ id }) => id,
});

const reason = { type: "string", value: "TEXT", help: "reason, shown to the requester" } as const;
const scope = {
  type: "string",
  value: "SCOPE",
  help: "once, sandbox (for the life of the sandbox) or always (for the namespace) (default: once)",
} as const;

const approve = answer("approve", ({ caisson }, id, said) => caisson.approvals.approve(id, said));
const deny = answer("deny", ({ caisson }, id, said) => caisson.approvals.deny(id, said));

function answer(
  summary: string,
  act: (call: VerbCall, id: string, answer: ApprovalAnswer) => Promise<ApprovalInfo>,
): Verb {
  return {
    summary: `${summary} an approval request`,
    usage: "ID",
    words: [1, 1],
    options: { scope, reason },
    run: async (call) => {
      const { options, words, io, json } = call;
      const said = {
        scope: oneOf<ApprovalScope>(approvalScopes, options.text("scope")),
        reason: options.text("reason"),
      };
      const done = await act(call, words[0] ?? "", defined(said));
      return json ? tellJson(io, done) : tellLine(io, `${done.state} (${done.scope}): ${done.subject}`);
    },
  };
}

const revoke = lineVerb({
  summary: "revoke a decision that is still in effect",
  usage: "ID",
  call: ({ caisson }, id) => caisson.approvals.revoke(id),
  line: ({ subject }) => `revoked: ${subject}`,
});

function oneOf<T extends ApprovalScope | ApprovalState>(known: readonly T[], text: string | undefined): T | undefined {
  const found = known.find((one) => one === text);
  if (found === undefined && text !== undefined)
    throw new AppError("invalid", `'${text}' is not one of ${known.join(", ")}`);
  return found;
}

/** Marks every line that a sandbox or an agent wrote, so that it cannot pass for a field of ours. */
function tellApproval(io: RunIo, one: ApprovalInfo): number {
  const fields: [string, unknown][] = [
    ["id", one.id],
    ["state", one.scope === null ? one.state : `${one.state} (${one.scope})`],
    ["kind", one.kind],
    ["namespace", one.namespace],
    ["sandbox", one.sandbox_id],
    ["asked by", one.asked_by ?? "code in the sandbox"],
    ["asked", `${one.asked} times since ${tellTime(one.created_at)}`],
    ["expires", tellTime(one.expires_at)],
    ["decided by", one.decided_by],
    ["reason", one.reason],
    ["revoked", one.revoked_at === null ? null : tellTime(one.revoked_at)],
  ];
  for (const [name, value] of fields)
    if (value !== null)
      io.stdout.write(`${paint(io.terminal, "dim", `${name}:`.padEnd(12))}${visible(String(value))}\n`);
  const quote = (title: string, text: string) => {
    io.stdout.write(`${paint(io.terminal, "dim", `${visible(title)}:`)}\n`);
    for (const line of text.split("\n")) io.stdout.write(`  | ${visible(line)}\n`);
  };
  quote("subject", one.text ?? one.subject);
  for (const [name, value] of Object.entries(one.detail)) if (value !== null) quote(name, String(value));
  return 0;
}

export const approvalVerbs: Record<string, Verb> = {
  approvals: list,
  "approvals list": list,
  "approvals show": show,
  "approvals wait": wait,
  "approvals approve": approve,
  "approvals deny": deny,
  "approvals revoke": revoke,
  "approvals request": request,
};

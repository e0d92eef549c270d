import { z } from "zod";
import { contextLanguages } from "../core/context.ts";
import { sandboxStates } from "../core/lifecycle.ts";
import { redacted } from "../core/redaction.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { findSession } from "./find-session.ts";
import { inspectVariables, interpreterState } from "./inspect-variables.ts";
import { sessionId, sessionLabels } from "./session.ts";
import { sessionLimits } from "./session-limits.ts";
import { defineTool } from "./tool.ts";

/** Variables whose name says that nobody should read them, whoever set them. */
const secretName = /secret|token|passw|credential|api_?key|private_?key/i;

const sessionRow = z.object({
  session_id: z.string(),
  sandbox_id: z.string(),
  status: z.enum(sandboxStates),
  language: z.string().nullable(),
  description: z.string(),
  last_used_at: z.iso.datetime(),
});

export const inspectState = defineTool({
  name: "inspect_state",
  title: "Look at a session",
  sets: ["sessions"],
  scope: "use",
  description: [
    "Shows the state of a session: variables of its interpreters with types and sizes (no values), environment variables with secrets masked, processes, and a list of all sessions.",
    "Use it to check what is still there before you compute it again.",
    "It starts nothing: a stopped or unused session has no variables. While code runs, `busy` is true and variables are not listed.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ session_id: sessionId }),
  output: z.object({
    status: z.enum(sandboxStates).nullable(),
    interpreters: z.array(interpreterState),
    environment: z.record(z.string(), z.string()),
    processes: z.number().describe("running background processes"),
    sessions: z.array(sessionRow),
    sessions_truncated: z.boolean(),
    session_id: z.string(),
    sandbox_id: z.string().nullable().describe("null: the session has not been used yet"),
  }),
  run: async (call, { session_id = call.session }) => {
    const { caller, parts } = call;
    const record = await findSession(call, session_id);
    const isRunning = record?.status === "running";
    const state = isRunning
      ? await parts.fleet.use(caller, record.id, describe)
      : { interpreters: [], environment: mask(record?.env ?? {}), processes: 0 };
    const all = await parts.fleet.list(caller, { limit: sessionLimits.sessions + 1 });
    const sessions = all.flatMap((one) =>
      one.sessionKey === null
        ? []
        : {
            session_id: one.sessionKey,
            sandbox_id: one.id,
            status: one.status,
            language: one.labels[sessionLabels.language] ?? null,
            description: one.description,
            last_used_at: new Date(one.lastUsedAtMs).toISOString(),
          },
    );
    return {
      structured: {
        session_id: record?.sessionKey ?? session_id,
        sandbox_id: record?.id ?? null,
        status: record?.status ?? null,
        ...state,
        sessions: sessions.slice(0, sessionLimits.sessions),
        sessions_truncated: all.length > sessionLimits.sessions,
      },
    };
  },
});

async function describe(sandbox: Sandbox) {
  const interpreters = [];
  for (const language of contextLanguages) {
    const found = await inspectVariables(sandbox, language);
    if (found !== undefined) interpreters.push(found);
  }
  const environment = mask(sandbox.redactor.value(sandbox.environment));
  const processes = sandbox.processes.list().filter(({ state }) => state === "running").length;
  return { interpreters: sandbox.redactor.value(interpreters), environment, processes };
}

function mask(environment: Readonly<Record<string, string>>): Record<string, string> {
  const rows = Object.entries(environment).map(([name, value]) => [name, secretName.test(name) ? redacted : value]);
  return Object.fromEntries(rows);
}

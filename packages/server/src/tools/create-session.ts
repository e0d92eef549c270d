import { z } from "zod";
import { languages } from "../core/language.ts";
import { randomId } from "../lib/random-id.ts";
import { createSandbox, sandbox, showSandbox, toCreateRequest } from "../schemas/sandbox.ts";
import { onDisconnect } from "./lifeline.ts";
import { sessionId, sessionLabels, where, whereOf } from "./session.ts";
import { defineTool } from "./tool.ts";

const asked = createSandbox.pick({
  engine: true,
  image: true,
  memory_mb: true,
  cpus: true,
  max_processes: true,
  storage_mb: true,
  resource_limits: true,
  env: true,
  description: true,
  idle_timeout_seconds: true,
  lifetime_seconds: true,
  snapshot_id: true,
  template: true,
});

const shown = sandbox.pick({
  status: true,
  description: true,
  engine: true,
  memory_mb: true,
  cpus: true,
  max_processes: true,
  storage_mb: true,
  expires_at: true,
  template: true,
});

export const createSession = defineTool({
  name: "create_session",
  title: "Open a session",
  sets: ["core", "sessions"],
  scope: "use",
  description: [
    "Creates a session: a separate sandbox with an interpreter that keeps variables between execute_code calls with its session_id.",
    "Use it for work in several steps, for a second sandbox, or to set limits. One call is enough for a whole task.",
    "With template it starts with that template's files and packages (list_templates), and with its variables if template.memory is true.",
    "Returns session_id and the sandbox's limits. An existing session_id returns that session with its existing limits.",
    "The call is refused if too many sessions are open: end unused ones with terminate_session.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({
    language: z
      .enum(languages)
      .default("python")
      .describe("default language of execute_code; shell keeps no variables"),
    session_id: sessionId.describe("a name that you choose; default: a generated one"),
    ...asked.shape,
    on_disconnect: z
      .enum(["end", "keep"])
      .default("end")
      .describe("what to do with a run if you disconnect; audit_execution shows kept runs"),
  }),
  output: z.object({
    ...where,
    language: z.enum(languages),
    created: z.boolean().describe("false: it already existed"),
    ...shown.shape,
  }),
  run: async (call, input) => {
    const { caller, parts } = call;
    const { language } = input;
    const { record, isNew } = await parts.create(caller, {
      ...toCreateRequest(input),
      sessionKey: input.session_id ?? `session-${randomId(9, "base64url")}`,
      labels: {
        [sessionLabels.language]: language,
        ...(input.on_disconnect === "keep" && { [onDisconnect.label]: onDisconnect.keep }),
      },
    });
    call.using?.(record.id);
    return { structured: { ...whereOf(record), language, created: isNew, ...shown.parse(showSandbox(record)) } };
  },
});

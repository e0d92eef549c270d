import { z } from "zod";
import { defined } from "../core/defined.ts";
import { languages } from "../core/language.ts";
import { randomId } from "../core/random-id.ts";
import { toMs } from "../schemas/amount.ts";
import { createSandbox, sandbox, showSandbox, toLimits } from "../schemas/sandbox.ts";
import { onDisconnect } from "./lifeline.ts";
import { sessionId, sessionLabels, where, whereOf } from "./session.ts";
import { defineTool } from "./tool.ts";

const {
  engine,
  image,
  memory_mb,
  cpus,
  max_processes,
  storage_mb,
  resource_limits,
  env,
  idle_timeout_seconds,
  lifetime_seconds,
  snapshot_id,
  template,
} = createSandbox.shape;

const shown = sandbox.pick({
  status: true,
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
  permission: "use",
  description: [
    "Opens a session: a sandbox of its own with an interpreter whose variables live on between execute_code calls that name its session_id.",
    "Use it for work in several steps, for a second computer beside your own, or to set limits. One call is enough for a whole task.",
    "With template it begins where that one does (list_templates): files, packages and, where template.memory says so, variables are there already.",
    "Comes back: session_id, and what the sandbox may use. A session_id that exists gives that session, with its limits as they were.",
    "When too much is open the call is refused: end sessions that are done with terminate_session.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({
    language: z.enum(languages).default("python").describe("of code that names none; shell keeps no variables"),
    session_id: sessionId.describe("a name of your own choice; made up unless given"),
    ...{
      engine,
      image,
      memory_mb,
      cpus,
      max_processes,
      storage_mb,
      resource_limits,
      env,
      idle_timeout_seconds,
      lifetime_seconds,
      snapshot_id,
      template,
    },
    on_disconnect: z
      .enum(["end", "keep"])
      .default("end")
      .describe("what becomes of a run when your connection is lost; kept ones are found with audit_execution"),
  }),
  output: z.object({
    ...where,
    language: z.enum(languages),
    created: z.boolean().describe("false: it was there already"),
    ...shown.shape,
  }),
  run: async (call, input) => {
    const { caller, parts } = call;
    const { language, engine, image, env } = input;
    const { record, isNew } = await parts.fleet.create(caller, {
      sessionKey: input.session_id ?? `session-${randomId(9, "base64url")}`,
      labels: {
        [sessionLabels.language]: language,
        ...(input.on_disconnect === "keep" && { [onDisconnect.label]: onDisconnect.keep }),
      },
      limits: toLimits(input),
      ...defined({ engine, image, env, snapshotId: input.snapshot_id, template: input.template }),
      ...defined({ idleTimeoutMs: toMs(input.idle_timeout_seconds), lifetimeMs: toMs(input.lifetime_seconds) }),
    });
    call.using?.(record.id);
    return { structured: { ...whereOf(record), language, created: isNew, ...shown.parse(showSandbox(record)) } };
  },
});

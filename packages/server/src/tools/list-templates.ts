import { z } from "zod";
import { sessionLimits } from "../core/session-limits.ts";
import { showTemplate, template } from "../schemas/template.ts";
import { defineTool } from "./tool.ts";

const shown = template.pick({
  name: true,
  description: true,
  state: true,
  error: true,
  image: true,
  engine: true,
  memory_mb: true,
  pip: true,
  npm: true,
  memory: true,
  why: true,
});

export const listTemplates = defineTool({
  name: "list_templates",
  title: "List templates",
  sets: ["sessions"],
  permission: "read",
  description: [
    "Lists the templates of your namespace, newest first: what a session can begin with, so that packages need not be installed and data not be loaded again.",
    "Use it before a task that needs more than Python's own library, and give a name whose state is ready as template to create_session.",
    "memory: its sessions begin with the variables that its warm-up left; otherwise the warm-up runs at each start. Operators make templates.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({}),
  output: z.object({ templates: z.array(shown), truncated: z.boolean() }),
  run: async ({ caller, parts }) => {
    const all = parts.templates.list(caller);
    const templates = all.slice(0, sessionLimits.templates).map((one) => shown.parse(showTemplate(one)));
    return { structured: { templates, truncated: all.length > sessionLimits.templates } };
  },
});

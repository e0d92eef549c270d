import { z } from "zod";
import { showTemplate, template } from "../schemas/template.ts";
import { sessionLimits } from "./session-limits.ts";
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
  scope: "read",
  description: [
    "Lists the templates of your namespace, newest first. A session from a template has its packages and data already.",
    "Use it before a task that needs more than Python's standard library, and pass the name of one with state ready as template to create_session.",
    "memory: its sessions start with the variables of its warm-up; otherwise the warm-up runs at each start. Operators create templates.",
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

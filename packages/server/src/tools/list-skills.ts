import { z } from "zod";
import { defined } from "../lib/defined.ts";
import { skillLimits } from "../sandboxes/snapshot-limits.ts";
import { sessionLimits } from "./session-limits.ts";
import { defineTool } from "./tool.ts";

export const listSkills = defineTool({
  name: "list_skills",
  title: "List skills",
  sets: ["files"],
  scope: "read",
  description: [
    "Lists the available skills, newest first, with name, version and description. A skill is instructions and programs for a kind of task.",
    "Call it before a task that a skill may solve; then use read_skill to read one, and install_skill to copy its files into your sandbox.",
    "With name it lists every version of that skill, otherwise the newest of each. truncated: there are more.",
  ].join(" "),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ name: z.string().min(1).max(skillLimits.nameCharacters).optional() }),
  output: z.object({
    skills: z.array(z.object({ name: z.string(), version: z.string(), description: z.string() })),
    truncated: z.boolean(),
  }),
  run: async ({ caller, parts }, { name }) => {
    const most = sessionLimits.skills;
    const all = await parts.skills.list(caller, { limit: skillLimits.perNamespace, ...defined({ name }) });
    const newest = new Map(all.toReversed().map((record) => [record.name, record]));
    const found = name === undefined ? all.filter((record) => newest.get(record.name) === record) : all;
    const skills = found.slice(0, most).map(({ name, version, description }) => ({ name, version, description }));
    return { structured: { skills, truncated: found.length > most } };
  },
});

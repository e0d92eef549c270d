import { z } from "zod";
import { skillLimits } from "../sandboxes/snapshot-limits.ts";
import { installedSkills, showInstalled, skillReference } from "../schemas/skill.ts";
import { sessionId, sessionOf, where, whereOf } from "./session.ts";
import { defineTool } from "./tool.ts";

export const installSkill = defineTool({
  name: "install_skill",
  title: "Install skills",
  sets: ["files"],
  scope: "use",
  description: [
    "Installs skills into your sandbox, each in /workspace/skills/NAME; it replaces another version of the same skill. Then read its SKILL.md and follow it.",
    "/workspace/skills/index.json lists installed skills with descriptions.",
    "Returns the names of installed skills, those already installed and unchanged, and their paths.",
  ].join(" "),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({
    skills: z.array(skillReference).min(1).max(skillLimits.installed),
    session_id: sessionId,
  }),
  output: installedSkills.extend(where),
  run: async (call, { skills, session_id }) => {
    const { caller, parts } = call;
    for (const skill of skills) await parts.skills.get(caller, skill); // no sandbox is made for one that is not there
    const record = await sessionOf(call, session_id);
    const outcome = await parts.fleet.use(caller, record.id, (sandbox) =>
      parts.skills.install(caller, sandbox, skills),
    );
    return { structured: { ...showInstalled(outcome), ...whereOf(record) } };
  },
});

import { z } from "zod";
import { skillLimits } from "../core/snapshot-limits.ts";
import { installedSkills, showInstalled, skillReference } from "../schemas/skill.ts";
import { sessionId, sessionOf, where, whereOf } from "./session.ts";
import { defineTool } from "./tool.ts";

export const installSkill = defineTool({
  name: "install_skill",
  title: "Install skills",
  sets: ["files"],
  permission: "use",
  description: [
    "Puts skills into your sandbox, each into /workspace/skills/NAME; an older version of the same skill makes room. Read its SKILL.md there, and follow it.",
    "/workspace/skills/index.json lists what is installed, with descriptions.",
    "Comes back: names that were installed, names that were there already with every byte, and where each is.",
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

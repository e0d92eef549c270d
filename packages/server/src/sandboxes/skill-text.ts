import { AppError } from "../core/errors.ts";
import { skillLimits } from "../core/snapshot-limits.ts";

/** A folder of that name is made in workspaces. */
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

export interface SkillText {
  name: string;
  description: string;
}

/** The front matter of SKILL.md: YAML between two lines of three dashes. */
export async function parseSkillText(text: string): Promise<SkillText> {
  const [, matter] = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text) ?? [];
  if (matter === undefined) throw refuse("it has no front matter between two lines of ---");
  if (matter.length > skillLimits.frontMatterCharacters)
    throw refuse(`its front matter is longer than ${skillLimits.frontMatterCharacters} characters`);
  const fields = await parseYaml(matter);
  const { name, description } = fields;
  if (typeof name !== "string" || !namePattern.test(name) || name.length > skillLimits.nameCharacters)
    throw refuse(
      `its name must be letters, digits, dots, dashes and underscores, at most ${skillLimits.nameCharacters}, and begin with a letter or a digit`,
    );
  if (typeof description !== "string" || description.trim() === "") throw refuse("it has no description");
  if (description.length > skillLimits.descriptionCharacters)
    throw refuse(`its description is longer than ${skillLimits.descriptionCharacters} characters`);
  return { name, description: description.trim() };
}

async function parseYaml(matter: string): Promise<Record<string, unknown>> {
  const { default: yaml } = await import("yaml"); // few upload skills
  const document = yaml.parseDocument(matter, { schema: "core", uniqueKeys: true, prettyErrors: false });
  const [problem] = document.errors;
  if (problem !== undefined) throw refuse(`its front matter is no YAML: ${problem.message.slice(0, 200)}`);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 0 });
  } catch (cause) {
    throw refuse("its front matter has aliases", cause); // a few lines of them stand for gigabytes
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw refuse("its front matter holds no fields");
  return value as Record<string, unknown>;
}

function refuse(why: string, cause?: unknown): AppError {
  return new AppError("invalid", `SKILL.md is refused: ${why}`, { cause });
}

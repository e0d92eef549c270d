import { AppError } from "../core/errors.ts";
import { isReservedName, skillName } from "../core/skill.ts";
import { parsePlainYaml } from "./plain-yaml.ts";
import { skillLimits } from "./snapshot-limits.ts";

const versionPattern = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;

export interface SkillText {
  name: string;
  description: string;
  /** Null where it names none. */
  version: string | null;
}

/** The front matter of SKILL.md: YAML between two lines of three dashes. */
export async function parseSkillText(text: string): Promise<SkillText> {
  const [, matter] = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text) ?? [];
  if (matter === undefined) throw refuse("it has no front matter between two lines of ---");
  const { nameCharacters, versionCharacters, descriptionCharacters, frontMatterCharacters, frontMatter } = skillLimits;
  if (matter.length > frontMatterCharacters)
    throw refuse(`its front matter is longer than ${frontMatterCharacters} characters`);
  const document = await parsePlainYaml(matter, frontMatter, (why) => refuse(`its front matter: ${why}`));
  const field = (...path: string[]) => scalarOf(document.getIn(path, true));
  const name = field("name")?.value;
  if (typeof name !== "string" || !skillName.test(name) || name.length > nameCharacters)
    throw refuse(
      `its name must be letters, digits, dots, dashes and underscores, at most ${nameCharacters}, and begin with a letter or a digit`,
    );
  if (isReservedName(name)) throw refuse(`the name '${name}' is reserved`);
  const description = field("description")?.value;
  if (typeof description !== "string" || description.trim() === "") throw refuse("it has no description");
  if (description.length > descriptionCharacters)
    throw refuse(`its description is longer than ${descriptionCharacters} characters`);
  // As it is written: 1.10 is no number. The second place is where other programs look for it.
  const version = (field("version") ?? field("metadata", "version"))?.source;
  if (version !== undefined && (!versionPattern.test(version) || version.length > versionCharacters))
    throw refuse(
      `its version must be letters, digits, dots, dashes, underscores and plus signs, at most ${versionCharacters}, and begin with a letter or a digit`,
    );
  return { name, description: description.trim(), version: version ?? null };
}

interface Scalar {
  value: unknown;
  source: string;
}

/** Undefined where there is no such field; of a list or an object, nothing that is text. */
function scalarOf(node: unknown): Scalar | undefined {
  if (typeof node !== "object" || node === null) return undefined;
  const { value, source } = node as { value?: unknown; source?: unknown };
  return { value, source: typeof source === "string" ? source : "" };
}

function refuse(why: string): AppError {
  return new AppError("invalid", `SKILL.md is refused: ${why}`);
}

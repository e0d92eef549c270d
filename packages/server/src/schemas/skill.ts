import { z } from "zod";
import type { InstalledSkill, InstallOutcome, SkillRecord } from "../core/skill.ts";
import { shownPath, type TreeEntry } from "../core/tree.ts";
import { skillLimits } from "../sandboxes/snapshot-limits.ts";

const { nameCharacters, versionCharacters } = skillLimits;

/** As callers name one. */
export const skillReference = z
  .string()
  .min(1)
  .max(nameCharacters + 1 + versionCharacters)
  .describe("id, name (the newest version) or name@version");

/** The files of the newest of a name are found without its id: NAME/content/SKILL.md. */
export const skillId = z.strictObject({ skill_id: skillReference });

export const skill = z
  .object({
    id: z.string().describe("digest of its content"),
    digest: z.string().describe("id with the name of the digest algorithm"),
    name: z.string(),
    version: z.string().describe("from SKILL.md, or the first characters of the id"),
    description: z.string(),
    file_count: z.number().int(),
    total_size: z.number().int().describe("total bytes of all files"),
    created_at: z.iso.datetime(),
    created_by: z.string(),
  })
  .meta({ id: "Skill" });

export function showSkill(record: SkillRecord): z.output<typeof skill> {
  return {
    id: record.id,
    digest: `sha256:${record.id}`,
    name: record.name,
    version: record.version,
    description: record.description,
    file_count: record.files,
    total_size: record.totalBytes,
    created_at: new Date(record.createdAtMs).toISOString(),
    created_by: record.createdBy,
  };
}

export const skillFile = z
  .object({
    path: z.string(),
    type: z.enum(["file", "directory", "link", "hard-link", "unreadable"]),
    size: z.number().int(),
    mode: z.number().int(),
    sha256: z.string().nullable().describe("hash of a file"),
    target: z.string().nullable().describe("target of a link"),
  })
  .meta({ id: "SkillFile" });

export function showSkillFile({ path, type, size, mode, sha256, target }: TreeEntry): z.output<typeof skillFile> {
  const isLink = type === "link" || type === "hard-link";
  return {
    path: shownPath(path),
    type,
    size,
    mode,
    sha256: type === "file" ? sha256 : null,
    target: isLink ? shownPath(target) : null,
  };
}

export const installedSkill = z
  .object({
    name: z.string(),
    version: z.string(),
    description: z.string(),
    path: z.string().describe("path of its folder, which contains SKILL.md"),
    id: z.string(),
  })
  .meta({ id: "InstalledSkill" });

export const installSkills = z
  .strictObject({ skill_ids: z.array(skillReference).min(1).max(skillLimits.installed) })
  .meta({ id: "InstallSkills" });

export const installedSkills = z
  .object({
    installed: z.array(z.string()).describe("names"),
    already_installed: z.array(z.string()),
    skills: z.array(installedSkill).describe("both, in the order of asking"),
  })
  .meta({ id: "InstalledSkills" });

export function showInstalled({
  installed,
  alreadyInstalled,
  skills,
}: InstallOutcome): z.output<typeof installedSkills> {
  return { installed, already_installed: alreadyInstalled, skills: skills.map(showInstalledSkill) };
}

export function showInstalledSkill({ name, version, description, path, id }: InstalledSkill): InstalledSkill {
  return { name, version, description, path, id };
}

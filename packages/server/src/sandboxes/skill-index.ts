import { AppError } from "../core/errors.ts";
import type { SandboxFiles } from "../core/file.ts";
import { jsonLimits } from "../core/json-limits.ts";
import { parseJson } from "../core/parse-json.ts";
import { type InstalledSkill, readReference, skillIndex, skillName } from "../core/skill.ts";
import { skillLimits } from "./snapshot-limits.ts";

/** Where skills go, each in a folder of its name. */
export const skillFolder = "skills";

const path = `${skillFolder}/${skillIndex}`;

/** Of no name, of a folder, of a link out of the workspace. */
const noFile: readonly string[] = ["not_found", "invalid", "forbidden"];

/** What the index of a workspace tells. Code in the sandbox may have written it: what is no skill is left out. */
export async function readIndex(files: SandboxFiles): Promise<InstalledSkill[]> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of files.read(path, { length: skillLimits.indexBytes })) pieces.push(Buffer.from(piece));
  } catch (error) {
    if (error instanceof AppError && noFile.includes(error.code)) return [];
    throw error;
  }
  return parseIndex(Buffer.concat(pieces).toString("utf8"));
}

function parseIndex(text: string): InstalledSkill[] {
  let found: unknown;
  try {
    found = parseJson(text, jsonLimits.request);
  } catch {
    return [];
  }
  const rows = (found as { skills?: unknown } | null)?.skills;
  if (!Array.isArray(rows)) return [];
  return rows.slice(0, skillLimits.indexed).flatMap((row) => {
    const { name, version, description, id } = (row ?? {}) as Record<keyof InstalledSkill, unknown>;
    const { nameCharacters, versionCharacters, descriptionCharacters } = skillLimits;
    if (!isText(name, nameCharacters) || !skillName.test(name)) return [];
    if (!isText(version, versionCharacters) || !isText(description, descriptionCharacters)) return [];
    if (!isText(id, 64) || !("id" in readReference(id))) return [];
    return [{ name, version, description, path: folderOf(name), id }];
  });
}

function isText(value: unknown, characters: number): value is string {
  return typeof value === "string" && value.length <= characters;
}

export function folderOf(name: string): string {
  return `/workspace/${skillFolder}/${name}`;
}

/** Names and descriptions of all that is installed, for agents to choose from before they read a SKILL.md. */
export async function writeIndex(files: SandboxFiles, installed: readonly InstalledSkill[]): Promise<void> {
  const before = await readIndex(files);
  const folders = await files.list(skillFolder);
  const isThere = (name: string) => folders.some((one) => one.name === name && one.type === "directory");
  const skills = new Map([...before, ...installed].map((skill) => [skill.name, skill]));
  const rows = [...skills.values()]
    .filter(({ name }) => isThere(name))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .slice(0, skillLimits.indexed);
  await files.write(path, `${JSON.stringify({ skills: rows }, null, 2)}\n`);
}

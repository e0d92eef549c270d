import type { Batch } from "./batch.ts";
/** A folder with SKILL.md and files. Its id is the digest of what it holds: the same folder is the same skill. */
export interface SkillRecord {
  id: string;
  namespace: string;
  /** From the front matter of SKILL.md. */
  name: string;
  /** From there too, or the first characters of the id. A name has each version once. */
  version: string;
  description: string;
  files: number;
  totalBytes: number;
  createdAtMs: number;
  createdBy: string;
}

export interface SkillQuery {
  namespace: string;
  name?: string;
  version?: string;
  /** Ids after this one, newest first. */
  cursor?: string;
  limit: number;
}

export interface SkillRecords {
  /** False when the namespace has it already, or other files by the same name and version. */
  insert(record: SkillRecord, within?: Batch): Promise<boolean>;
  get(namespace: string, id: string): Promise<SkillRecord | undefined>;
  list(query: SkillQuery): Promise<SkillRecord[]>;
  count(namespace: string): Promise<number>;
  delete(namespace: string, id: string, within?: Batch): Promise<void>;
  /** Ids of all skills there are, which are their manifests. */
  manifests(): Promise<string[]>;
}

export interface InstallOutcome {
  /** Names of skills. */
  installed: string[];
  alreadyInstalled: string[];
  /** Both. */
  skills: InstalledSkill[];
}

/** A skill in a sandbox, as its index there tells it. */
export interface InstalledSkill {
  name: string;
  version: string;
  description: string;
  /** Path of its folder. */
  path: string;
  /** Id of the installed skill: its digest. */
  id: string;
}

/** Reference by a caller: an id, `name` for the newest of that name, or `name@version`. */
export type SkillReference = { id: string } | { name: string; version?: string };

const idPattern = /^[0-9a-f]{64}$/;

export function readReference(text: string): SkillReference {
  if (idPattern.test(text)) return { id: text };
  const at = text.indexOf("@");
  return at === -1 ? { name: text } : { name: text.slice(0, at), version: text.slice(at + 1) };
}

/** A folder of that name is made in workspaces. */
export const skillName = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** In the folder of skills; no skill can be called so. */
export const skillIndex = "index.json";

/** True when a name could be mistaken for an id or the index. */
export function isReservedName(name: string): boolean {
  return idPattern.test(name) || name.toLowerCase() === skillIndex;
}

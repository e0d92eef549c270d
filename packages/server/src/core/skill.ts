/** A folder with SKILL.md and files. Its id is the digest of what it holds: the same folder is the same skill. */
export interface SkillRecord {
  id: string;
  namespace: string;
  /** From the front matter of SKILL.md. */
  name: string;
  description: string;
  files: number;
  totalBytes: number;
  createdAtMs: number;
  createdBy: string;
}

export interface SkillQuery {
  namespace: string;
  name?: string;
  /** Ids after this one, newest first. */
  cursor?: string;
  limit: number;
}

export interface SkillRecords {
  /** False when the namespace has it already. */
  insert(record: SkillRecord): Promise<boolean>;
  get(namespace: string, id: string): Promise<SkillRecord | undefined>;
  list(query: SkillQuery): Promise<SkillRecord[]>;
  count(namespace: string): Promise<number>;
  delete(namespace: string, id: string): Promise<void>;
  /** Ids of all skills there are, which are their manifests. */
  manifests(): Promise<string[]>;
}

export interface InstallOutcome {
  /** Names of skills. */
  installed: string[];
  alreadyInstalled: string[];
}

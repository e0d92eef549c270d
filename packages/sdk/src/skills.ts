import type { FileBody } from "./files.ts";
import type { Transport } from "./transport.ts";

export interface SkillInfo {
  /** The digest of what it holds. */
  id: string;
  /** The id with the name of its algorithm. */
  digest: string;
  name: string;
  /** From SKILL.md, or the first characters of the id. */
  version: string;
  description: string;
  file_count: number;
  total_size: number;
  created_at: string;
  created_by: string;
}

export interface SkillFile {
  path: string;
  type: "file" | "directory" | "link" | "hard-link" | "unreadable";
  size: number;
  mode: number;
  sha256: string | null;
  target: string | null;
}

/** As the index of a sandbox tells it. */
export interface InstalledSkill {
  name: string;
  version: string;
  description: string;
  /** Path of its folder; SKILL.md in it says how to use it. */
  path: string;
  id: string;
}

export interface InstalledSkills {
  /** Names. */
  installed: string[];
  already_installed: string[];
  /** Both. */
  skills: InstalledSkill[];
}

const path = "/api/v1/skills";
const at = (skill: string) => `${path}/${encodeURIComponent(skill)}`;

/** Folders with SKILL.md, stored once. One is named by its id, its name (the newest) or `name@version`. */
export class Skills {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** A tar archive, plain or gzip, of a folder with SKILL.md. The same files are stored once. */
  add(archive: FileBody): Promise<SkillInfo> {
    const headers = { "content-type": "application/x-tar" };
    return this.#transport.json("POST", path, { body: archive, headers, timeoutMs: null });
  }

  /** Newest first. */
  list(options: { name?: string; version?: string; limit?: number; cursor?: string } = {}): Promise<SkillInfo[]> {
    return this.#transport.json("GET", path, { query: { ...options } });
  }

  get(skill: string): Promise<SkillInfo> {
    return this.#transport.json("GET", at(skill));
  }

  /** Lists its files. */
  files(skill: string): Promise<SkillFile[]> {
    return this.#transport.json("GET", `${at(skill)}/files`);
  }

  async read(skill: string, file = "SKILL.md"): Promise<ReadableStream<Uint8Array>> {
    const names = file.split("/").map(encodeURIComponent).join("/");
    const response = await this.#transport.send("GET", `${at(skill)}/content/${names}`);
    return response.body ?? new ReadableStream();
  }

  /** Deletes a skill; installed copies stay. A name without a version must have only one. */
  async delete(skill: string): Promise<void> {
    await this.#transport.json("DELETE", at(skill));
  }
}

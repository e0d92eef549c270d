import type { FileBody } from "./files.ts";
import type { Transport } from "./transport.ts";

export interface SkillInfo {
  /** The digest of what it holds. */
  id: string;
  name: string;
  description: string;
  file_count: number;
  total_size: number;
  created_at: string;
  created_by: string;
}

export interface InstalledSkills {
  installed: string[];
  already_installed: string[];
}

const path = "/api/v1/skills";

/** Folders with SKILL.md: stored once, installed by id. */
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

  list(options: { name?: string; limit?: number; cursor?: string } = {}): Promise<SkillInfo[]> {
    return this.#transport.json("GET", path, { query: { ...options } });
  }

  get(id: string): Promise<SkillInfo> {
    return this.#transport.json("GET", `${path}/${encodeURIComponent(id)}`);
  }

  async delete(id: string): Promise<void> {
    await this.#transport.json("DELETE", `${path}/${encodeURIComponent(id)}`);
  }
}

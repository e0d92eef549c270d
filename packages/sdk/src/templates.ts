import type { NetworkRequest } from "./egress.ts";
import type { EngineName } from "./sandbox-info.ts";
import type { Transport } from "./transport.ts";

/** Run once all else is there; without secrets, without network. */
export interface WarmUp {
  language: "python" | "node" | "shell";
  code: string;
}

export interface CreateTemplate {
  name: string;
  description?: string;
  image?: string;
  /** `process` and `docker` are other names of `container`. */
  engine?: EngineName | "auto" | "process" | "docker";
  memory_mb?: number;
  cpus?: number;
  cpu_shares?: number;
  max_processes?: number;
  storage_mb?: number;
  env?: Record<string, string>;
  /** Network policy of its sandboxes, as far as their creator may allow it. */
  network?: NetworkRequest;
  /** Its files are the workspace. */
  snapshot_id?: string;
  /** Written over those of the snapshot. */
  files?: ({ path: string; text: string } | { path: string; base64: string })[];
  pip?: string[];
  npm?: string[];
  warm_up?: WarmUp;
}

export interface TemplateInfo {
  id: string;
  name: string;
  description: string;
  state: "building" | "ready" | "failed";
  /** The one under way, or the one that failed. */
  step: "sandbox" | "files" | "packages" | "freeze" | "warm-up" | null;
  error: string | null;
  image: string;
  engine: EngineName;
  memory_mb: number;
  cpus: number;
  cpu_shares: number;
  max_processes: number;
  storage_mb: number;
  env_names: string[];
  pip: string[];
  npm: string[];
  warm_up: WarmUp | null;
  bytes: number;
  /** True when its sandboxes begin with the memory that the warm-up left. */
  memory: boolean;
  /** Why not. */
  why: string | null;
  created_at: string;
  created_by: string;
}

const path = "/api/v1/templates";
const lookEveryMs = 250;

/** Templates of sandboxes. */
export class Templates {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Answers at once: `settled` waits until it is made. */
  create(asked: CreateTemplate): Promise<TemplateInfo> {
    return this.#transport.json("POST", path, { json: asked });
  }

  list(): Promise<TemplateInfo[]> {
    return this.#transport.json("GET", path);
  }

  /** By id or name. */
  get(template: string): Promise<TemplateInfo> {
    return this.#transport.json("GET", one(template));
  }

  /** As it is once it is ready or has failed. */
  async settled(template: string): Promise<TemplateInfo> {
    for (;;) {
      const info = await this.get(template);
      if (info.state !== "building") return info;
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
  }

  async delete(template: string): Promise<void> {
    await this.#transport.json("DELETE", one(template));
  }
}

function one(template: string): string {
  return `${path}/${encodeURIComponent(template)}`;
}

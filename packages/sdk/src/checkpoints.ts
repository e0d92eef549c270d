import { Sandbox } from "./sandbox.ts";
import type { EngineName } from "./sandbox-info.ts";
import type { Transport } from "./transport.ts";

export interface CheckpointInfo {
  id: string;
  sandbox_id: string;
  name: string;
  engine: EngineName;
  /** As it is stored, compressed. */
  memory_mb: number;
  created_at: string;
  created_by: string;
}

/** Sandboxes as they were at a moment, memory and processes included. `sandbox.checkpoint()` makes one. */
export class Checkpoints {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** A page of them, newest first, also of sandboxes that are gone. */
  list(options: { limit?: number; cursor?: string; sandbox_id?: string } = {}): Promise<CheckpointInfo[]> {
    return this.#transport.json("GET", "/api/v1/checkpoints", { query: { ...options } });
  }

  get(id: string): Promise<CheckpointInfo> {
    return this.#transport.json("GET", `/api/v1/checkpoints/${encodeURIComponent(id)}`);
  }

  /** A new sandbox that goes on from there. */
  async restore(id: string): Promise<Sandbox> {
    const path = `/api/v1/checkpoints/${encodeURIComponent(id)}/restore`;
    return new Sandbox(this.#transport, await this.#transport.json("POST", path, { timeoutMs: null }));
  }

  async delete(id: string): Promise<void> {
    await this.#transport.json("DELETE", `/api/v1/checkpoints/${encodeURIComponent(id)}`);
  }
}

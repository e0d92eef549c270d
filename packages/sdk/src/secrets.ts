import type { FileBody } from "./files.ts";
import type { Transport } from "./transport.ts";

export type SecretTarget = { sandbox_id: string } | { key_id: string } | { server_id: string } | { all: true };

export type SecretDelivery =
  | { as: "file" }
  | { as: "env"; variable: string }
  | { as: "header"; header: string; hosts: string[]; format?: string; variable: string };

export interface SecretBinding {
  id: string;
  target: SecretTarget;
  deliver: SecretDelivery;
}

export interface SecretInfo {
  name: string;
  namespace: string;
  origin: "store" | "environment";
  state: "ready" | "expired" | "spent";
  version: number;
  created_at: string;
  updated_at: string;
  created_by: string;
  expires_at: string | null;
  uses_left: number | null;
  bindings: SecretBinding[];
}

export interface PutSecret {
  expires_in_seconds?: number;
  /** To how many sandboxes it may be given. */
  uses?: number;
}

const path = "/api/v1/secrets";

/** Values that code in sandboxes can use and nobody can read back. For operators. */
export class Secrets {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** A new value, or the next version of one. */
  put(name: string, value: FileBody, options: PutSecret = {}): Promise<SecretInfo & { warnings: string[] }> {
    const headers = { "content-type": "application/octet-stream" };
    return this.#transport.json("PUT", `${path}/${encodeURIComponent(name)}`, {
      body: value,
      headers,
      query: { ...options },
    });
  }

  list(): Promise<SecretInfo[]> {
    return this.#transport.json("GET", path);
  }

  get(name: string): Promise<SecretInfo> {
    return this.#transport.json("GET", `${path}/${encodeURIComponent(name)}`);
  }

  async delete(name: string): Promise<void> {
    await this.#transport.json("DELETE", `${path}/${encodeURIComponent(name)}`);
  }

  bind(name: string, target: SecretTarget, deliver: SecretDelivery): Promise<SecretInfo> {
    return this.#transport.json("POST", `${path}/${encodeURIComponent(name)}/bindings`, { json: { target, deliver } });
  }

  unbind(name: string, binding: string): Promise<SecretInfo> {
    const place = `${path}/${encodeURIComponent(name)}/bindings/${encodeURIComponent(binding)}`;
    return this.#transport.json("DELETE", place);
  }

  /** A new master key for all of the daemon's secrets; for administrators. */
  rotate(): Promise<{ rewrapped: number }> {
    return this.#transport.json("POST", "/api/v1/vault/rotate", { timeoutMs: null });
  }
}

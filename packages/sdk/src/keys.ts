import type { Transport } from "./transport.ts";

export type Role = "viewer" | "agent" | "operator" | "admin";

export interface ApiKeyInfo {
  id: string;
  name: string;
  namespace: string;
  role: Role;
  /** All that the key may do; null: what its role may. */
  scopes: string[] | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
}

export interface CreateKey {
  name: string;
  role: Role;
  /** Limits the key to scopes of its role, hosted servers (`server:ID`) and their tools (`server:ID:TOOL`). */
  scopes?: string[];
  namespace?: string;
  expires_in_seconds?: number;
}

export class Keys {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The answer alone shows the key. */
  create(key: CreateKey): Promise<ApiKeyInfo & { key: string }> {
    return this.#transport.json("POST", "/api/v1/keys", { json: key });
  }

  list(options: { all_namespaces?: boolean } = {}): Promise<ApiKeyInfo[]> {
    return this.#transport.json("GET", "/api/v1/keys", { query: { ...options } });
  }

  async revoke(id: string): Promise<void> {
    await this.#transport.json("DELETE", `/api/v1/keys/${encodeURIComponent(id)}`);
  }
}

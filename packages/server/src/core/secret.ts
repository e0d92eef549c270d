/** A value that code can use and nobody can see. */
import type { Caller } from "./principal.ts";

export interface SecretInfo {
  namespace: string;
  /** As a file name and as an environment variable: letters, digits, underscores. */
  name: string;
  version: number;
  createdAtMs: number;
  updatedAtMs: number;
  createdBy: string;
  expiresAtMs: number | null;
  /** May be delivered to so many sandboxes still; null for any number. */
  usesLeft: number | null;
  bindings: readonly SecretBinding[];
}

/** How a sandbox gets it. `header`: never; the daemon puts it into requests to `hosts`, in place of a placeholder (NET-12). */
export type SecretDelivery =
  | { as: "file" }
  | { as: "env"; variable: string }
  | {
      as: "header";
      header: string;
      hosts: readonly string[] /** `Bearer {}`: where the value goes. */;
      format: string;
      variable: string;
    };

/** Only operators bind. To one sandbox, to all of a session key, or to every sandbox of the namespace with that label. */
export interface SecretBinding {
  id: string;
  target: { sandboxId: string } | { sessionKey: string } | { label: string; value: string } | { all: true };
  delivery: SecretDelivery;
}

/** What the host may do with values inside this process. They are bytes, and are wiped when no longer needed where that can be done. */
export interface BoundSecret {
  name: string;
  version: number;
  delivery: SecretDelivery;
  value: Buffer;
}

export interface PutSecret {
  name: string;
  value: Buffer;
  expiresAtMs?: number | null;
  uses?: number | null;
}

export interface Vault {
  put(caller: Caller, secret: PutSecret): Promise<SecretInfo>;
  list(caller: Caller): Promise<SecretInfo[]>;
  delete(caller: Caller, name: string): Promise<void>;
  bind(caller: Caller, name: string, binding: Omit<SecretBinding, "id">): Promise<SecretInfo>;
  unbind(caller: Caller, name: string, bindingId: string): Promise<SecretInfo>;
  /** What is bound to a sandbox now, each access audited. The only way to a value. */
  deliver(sandbox: {
    id: string;
    namespace: string;
    sessionKey: string | null;
    labels: Readonly<Record<string, string>>;
  }): Promise<BoundSecret[]>;
  /** Wraps every data key with a new master key; readers go on meanwhile. */
  rotate(): Promise<number>;
}

/** A value that code can use and nobody can see. */
import type { Caller } from "./principal.ts";

export const secretOrigins = ["store", "environment"] as const;
type SecretOrigin = (typeof secretOrigins)[number];

/** States of a secret. The value of an expired or spent one is destroyed; its bindings wait for the next value. */
export const secretStates = ["ready", "expired", "spent"] as const;
export type SecretState = (typeof secretStates)[number];

/** As a file name and as an environment variable. */
export const secretNamePattern = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;

export interface SecretInfo {
  namespace: string;
  name: string;
  origin: SecretOrigin;
  state: SecretState;
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
      hosts: readonly string[];
      /** `Bearer {}`: where the value goes. */
      format: string;
      /** Holds the placeholder. */
      variable: string;
    };

/**
 * One sandbox, all that were created with one API key, all of the namespace but those of hosted servers, or one hosted server.
 * Nothing that whoever uses a sandbox can choose (SEC-09).
 */
export type SecretTarget = { sandboxId: string } | { keyId: string } | { all: true } | { serverId: string };

/** Only operators bind. */
export interface SecretBinding {
  id: string;
  target: SecretTarget;
  delivery: SecretDelivery;
}

/** Secret with its value, for use inside this process. Values are bytes, and are wiped after use where possible. */
export interface BoundSecret {
  bindingId: string;
  name: string;
  version: number;
  delivery: SecretDelivery;
  /** In the sandbox's environment in place of the value, for `header`. */
  placeholder: string | null;
  value: Buffer;
}

export interface PutSecret {
  name: string;
  value: Buffer;
  expiresAtMs?: number | null;
  uses?: number | null;
}

export interface PutOutcome {
  secret: SecretInfo;
  isNew: boolean;
  warnings: string[];
}

/** Whom a secret may be bound to. */
export interface SecretHolder {
  id: string;
  namespace: string;
  /** The key that it was created with. */
  createdBy: string;
  /** The sandbox that it began as a copy of: its programs know that one's placeholders. */
  copyOf?: string;
  /** Hosted server that it belongs to: it gets what is bound to that server, and nothing else (S121). */
  serverId?: string | null;
  /** It gets nothing, whatever is bound. */
  withheld?: boolean;
}

/** Binding whose value a sandbox holds. */
export interface HeldSecret {
  bindingId: string;
  name: string;
  version: number;
  delivery: SecretDelivery;
}

export interface Handover {
  /** Values that it lacks or has in another version; each access is in the audit log. */
  bring: BoundSecret[];
  /** Values that it has and must no longer have. */
  take: HeldSecret[];
  /** Values that it had and may still know: masked in its output, never delivered. */
  known: Buffer[];
}

export interface SecretChange {
  namespace: string;
  name: string;
}

/** Delivery of secrets to sandboxes, as the fleet uses it. */
export interface SecretSource {
  /** True when anything is bound in that namespace: most have nothing, and pay nothing. */
  concerns(holder: Pick<SecretHolder, "id" | "namespace">): boolean;
  /** The only way of a value into a sandbox. `actor`: undefined for what the daemon does by itself. */
  deliver(actor: Caller | undefined, holder: SecretHolder, held: readonly HeldSecret[]): Promise<Handover>;
  /** The sandbox is gone. */
  release(sandboxId: string): Promise<void>;
  /** A key of the daemon's own, sealed like a value; made, read and destroyed by its name. */
  newKey(name: string): Promise<Buffer>;
  readKey(name: string): Promise<Buffer>;
  dropKey(name: string): Promise<void>;
  keyNames(): Promise<string[]>;
  /** True when it ever had a value itself, in a file or a variable: its memory may hold it for good. */
  heldPlain(sandboxId: string): Promise<boolean>;
}

export interface HeaderPlaceholder {
  placeholder: string;
  name: string;
  header: string;
  hosts: readonly string[];
  format: string;
}

/** Secrets for request headers that the gate fills in for a sandbox (NET-12). */
export interface HeaderSecrets {
  /** Recognisable in a request: `placeholderPattern`. */
  placeholders(sandboxId: string): readonly HeaderPlaceholder[];
  /** For one request to that host, and audited; undefined when it is not bound, not for that host, expired or gone. Wipe it. */
  reveal(sandboxId: string, placeholder: string, host: string): Promise<Buffer | undefined>;
}

export const placeholderPattern = /caisson-secret-[0-9a-f]{40}/;

export interface Vault extends SecretSource, HeaderSecrets {
  put(caller: Caller, secret: PutSecret): Promise<PutOutcome>;
  get(caller: Caller, name: string): Promise<SecretInfo>;
  list(caller: Caller): Promise<SecretInfo[]>;
  /** With its bindings. */
  delete(caller: Caller, name: string): Promise<void>;
  bind(caller: Caller, name: string, binding: Omit<SecretBinding, "id">): Promise<SecretInfo>;
  unbind(caller: Caller, name: string, bindingId: string): Promise<SecretInfo>;
  /** True when a real value, and no placeholder, ever went into that sandbox (LIF-10). */
  heldPlain(sandboxId: string): Promise<boolean>;
  /** Wraps every data key with a new master key; readers go on meanwhile. Says how many. */
  rotate(caller: Caller): Promise<number>;
  /** Called, and waited for, after a change that sandboxes must see. From then on secrets expire. */
  watch(listener: (change: SecretChange) => Promise<void>): Promise<void>;
}

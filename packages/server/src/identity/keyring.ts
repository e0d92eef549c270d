import { randomBytes } from "node:crypto";
import type { ApiKey, ApiKeys } from "../core/api-key.ts";
import { AppError } from "../core/errors.ts";
import type { Recorder } from "../core/journal.ts";
import type { Caller, Principal } from "../core/principal.ts";
import type { Role } from "../core/scope.ts";
import { identityLimits } from "../http/limits.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { keepNewest } from "../lib/keep-newest.ts";
import { Recent } from "../lib/recent.ts";
import { checkKeyScopes } from "./key-scopes.ts";
import { hashToken, looksLikeKey, newKeyToken } from "./key-token.ts";
import { TokenBuckets } from "./token-bucket.ts";

export interface KeyRequest {
  name: string;
  namespace: string;
  role: Role;
  /** Default: all that the role may do. */
  scopes?: readonly string[];
  expiresAtMs?: number;
}

/** A new key, with the token that nobody can see again. */
export interface IssuedKey {
  key: ApiKey;
  token: string;
}

export interface KeyringParts {
  keys: ApiKeys;
  journal: Recorder;
  clock?: Clock;
}

/** Who a token stands for. Keys are remembered by their hash, so that a call costs no look into the store (IDN-01). */
export class Keyring {
  readonly #keys: ApiKeys;
  readonly #journal: Recorder;
  readonly #clock: Clock;
  readonly #lookups = new TokenBuckets({
    perSecond: identityLimits.lookupsPerSecond,
    burst: identityLimits.lookupsPerSecond,
    most: 1,
  });
  readonly #known = new Recent<ApiKey>(identityLimits.cachedKeys);
  /** When their last use was written down. */
  readonly #noted = new Recent<number>(identityLimits.cachedKeys);
  /** The latest: a look-up that began before a revocation must not bring the key back. */
  readonly #revoked = new Set<string>();

  constructor({ keys, journal, clock = systemClock }: KeyringParts) {
    this.#keys = keys;
    this.#journal = journal;
    this.#clock = clock;
  }

  async issue(request: KeyRequest, by: Caller | "system" = "system"): Promise<IssuedKey> {
    const token = newKeyToken();
    return { key: await this.adopt(token, request, by), token };
  }

  /** A token that was made elsewhere becomes a key; one that is a key already stays what it is. */
  async adopt(token: string, request: KeyRequest, by: Caller | "system" = "system"): Promise<ApiKey> {
    if (!looksLikeKey(token)) throw new AppError("invalid", "not an API key");
    const hash = hashToken(token);
    const present = await this.#keys.byHash(hash);
    if (present !== undefined) return present;
    const scopes = checkKeyScopes(request.role, request.scopes, by === "system" ? undefined : by.principal);
    await this.#checkRoom(request.namespace);
    const key: ApiKey = {
      id: `key_${randomBytes(8).toString("hex")}`,
      name: request.name,
      namespace: request.namespace,
      role: request.role,
      scopes,
      hash,
      createdAtMs: this.#clock.wallMs(),
      expiresAtMs: request.expiresAtMs ?? null,
      revokedAtMs: null,
      lastUsedAtMs: null,
    };
    const { id, namespace, role } = key;
    const data = { key_id: id, role, ...(scopes === null ? {} : { scopes }) };
    await this.#journal.record({ type: "key.created", by, namespace, data }, (within) =>
      this.#keys.insert(key, within),
    );
    return key;
  }

  /** The principal that a token stands for. */
  async authenticate(token: string): Promise<Principal> {
    if (!looksLikeKey(token)) throw unknownKey();
    const hash = hashToken(token);
    const key = this.#known.get(hash) ?? (await this.#lookUp(hash));
    if (key === undefined || !this.#lives(key)) {
      this.#known.delete(hash);
      throw unknownKey();
    }
    this.#known.set(hash, key);
    this.#noteUse(key);
    return toPrincipal(key);
  }

  /** The principal of a key by its id, for what was handed out in its name; undefined once it is revoked or expired. */
  async principalOf(id: string): Promise<Principal | undefined> {
    const key = await this.#keys.get(id);
    return key !== undefined && this.#lives(key) ? toPrincipal(key) : undefined;
  }

  list(namespace?: string): Promise<ApiKey[]> {
    return this.#keys.list(namespace);
  }

  /** From the moment this is called no request with the key begins. */
  async revoke(id: string, by: Caller | "system" = "system"): Promise<ApiKey> {
    const key = await this.#keys.get(id);
    if (key === undefined) throw new AppError("not_found", `unknown API key '${id}'`);
    this.#known.delete(key.hash);
    this.#revoked.delete(key.hash);
    this.#revoked.add(key.hash);
    keepNewest(this.#revoked, identityLimits.revokedKeys);
    if (key.revokedAtMs !== null) return key;
    const revokedAtMs = this.#clock.wallMs();
    await this.#journal.record({ type: "key.revoked", by, namespace: key.namespace, data: { key_id: id } }, (within) =>
      this.#keys.update(id, { revokedAtMs }, within),
    );
    return { ...key, revokedAtMs };
  }

  /** Guessing is slow for everybody together; keys that are remembered do not notice. */
  async #lookUp(hash: string): Promise<ApiKey | undefined> {
    const waitMs = this.#lookups.take("all");
    if (waitMs > 0)
      throw new AppError("limit_exceeded", "too many requests with unknown API keys", { retryAfterMs: waitMs });
    return this.#keys.byHash(hash);
  }

  #lives(key: ApiKey): boolean {
    if (key.revokedAtMs !== null || this.#revoked.has(key.hash)) return false;
    return key.expiresAtMs === null || key.expiresAtMs > this.#clock.wallMs();
  }

  /** Now and then; a use that is not written down costs nothing but its time. */
  #noteUse(key: ApiKey): void {
    const now = this.#clock.wallMs();
    const noted = this.#noted.get(key.hash) ?? key.lastUsedAtMs ?? 0;
    if (now - noted < identityLimits.lastUsedMs) return;
    this.#noted.set(key.hash, now);
    this.#keys.update(key.id, { lastUsedAtMs: now }).catch(() => this.#noted.delete(key.hash));
  }

  async #checkRoom(namespace: string): Promise<void> {
    const living = (await this.#keys.list(namespace)).filter((key) => this.#lives(key));
    if (living.length >= identityLimits.keysPerNamespace)
      throw new AppError(
        "limit_exceeded",
        `too many API keys in the namespace (limit: ${identityLimits.keysPerNamespace})`,
        {
          hint: "revoke unused keys: caisson keys list, caisson keys rm ID",
        },
      );
  }
}

function toPrincipal({ id, name, namespace, role, scopes }: ApiKey): Principal {
  return { id, name, namespace, role, ...(scopes === null ? {} : { scopes }) };
}

/** The same for every reason: a caller without a key learns nothing about keys. */
function unknownKey(): AppError {
  return new AppError("unauthenticated", "unknown, revoked or expired API key", {
    hint: "send a valid key in X-API-Key or Authorization: Bearer",
  });
}

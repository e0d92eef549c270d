/** Secrets go in here and never out: no answer, error, log or idempotency record holds a value (SEC-02). */
import { z } from "zod";
import { AppError } from "../core/errors.ts";
import type { Fleet } from "../core/fleet.ts";
import type { Caller } from "../core/principal.ts";
import type { SecretTarget, Vault } from "../core/secret.ts";
import type { HostedServers } from "../core/server.ts";
import type { Keyring } from "../identity/keyring.ts";
import { bindBody, readBinding, secret, secretName, showSecret } from "../schemas/secret.ts";
import { written } from "../schemas/written.ts";
import { secretLimits } from "../vault/limits.ts";
import { defineRoute, type Route } from "./route.ts";

const path = "/api/v1/secrets";
const tag = "secrets";
const named = z.strictObject({ name: secretName });

export interface SecretRouteParts {
  vault: Vault;
  fleet: Pick<Fleet<unknown>, "get">;
  keyring: Pick<Keyring, "list">;
  servers: Pick<HostedServers, "get">;
}

export function secretRoutes({ vault, fleet, keyring, servers }: SecretRouteParts): Route[] {
  /** A binding to what does not exist would wait for whoever gets that name. */
  const checkTarget = async (caller: Caller, target: SecretTarget): Promise<void> => {
    if ("sandboxId" in target) await fleet.get(caller, target.sandboxId);
    if ("serverId" in target) await servers.get(caller, target.serverId);
    if (!("keyId" in target)) return;
    const keys = await keyring.list(caller.principal.namespace);
    if (!keys.some(({ id, revokedAtMs }) => id === target.keyId && revokedAtMs === null))
      throw new AppError("not_found", "unknown API key in this namespace");
  };
  return [
    defineRoute({
      method: "PUT",
      path: `${path}/{name}`,
      tag,
      summary: "Stores a secret; the request body is its value. No call returns the value",
      scope: "operate",
      audit: "fleet",
      params: named,
      query: z.strictObject({
        expires_in_seconds: written(
          z.number().int().min(secretLimits.lifetimeSeconds.min).max(secretLimits.lifetimeSeconds.max),
        ).optional(),
        uses: written(z.number().int().min(secretLimits.uses.min).max(secretLimits.uses.max)).optional(),
      }),
      raw: ["application/octet-stream", "*/*"],
      rawBytes: secretLimits.valueBytes,
      problems: [422],
      responses: {
        201: { description: "the new secret", schema: secret.extend({ warnings: z.array(z.string()) }) },
        200: {
          description: "the secret with its next version",
          schema: secret.extend({ warnings: z.array(z.string()) }),
        },
      },
      handler: async ({ caller, params, query, body }) => {
        const value = await readAll(body);
        const lasting = query.expires_in_seconds;
        try {
          const { secret, isNew, warnings } = await vault.put(caller, {
            name: params.name,
            value,
            expiresAtMs: lasting === undefined ? null : Date.now() + lasting * 1000,
            uses: query.uses ?? null,
          });
          return { status: isNew ? 201 : 200, json: { ...showSecret(secret), warnings } };
        } finally {
          value.fill(0);
        }
      },
    }),
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists secrets, without their values",
      scope: "operate",
      audit: null,
      responses: { 200: { description: "all secrets of the namespace", schema: z.array(secret) } },
      handler: async ({ caller }) => ({ status: 200, json: (await vault.list(caller)).map(showSecret) }),
    }),
    defineRoute({
      method: "GET",
      path: `${path}/{name}`,
      tag,
      summary: "Returns a secret, without its value",
      scope: "operate",
      audit: null,
      params: named,
      responses: { 200: { description: "the secret", schema: secret } },
      handler: async ({ caller, params }) => ({ status: 200, json: showSecret(await vault.get(caller, params.name)) }),
    }),
    defineRoute({
      method: "DELETE",
      path: `${path}/{name}`,
      tag,
      summary: "Deletes a secret and its bindings; running sandboxes lose it",
      scope: "operate",
      audit: "fleet",
      params: named,
      problems: [422],
      responses: { 204: { description: "the secret is deleted" } },
      handler: async ({ caller, params }) => {
        await vault.delete(caller, params.name);
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "POST",
      path: `${path}/{name}/bindings`,
      tag,
      summary: "Binds a secret to sandboxes; running sandboxes get it immediately",
      scope: "operate",
      audit: "fleet",
      params: named,
      body: bindBody,
      problems: [422],
      responses: { 201: { description: "the secret with its bindings", schema: secret } },
      handler: async ({ caller, params, body }) => {
        const binding = readBinding(body);
        await checkTarget(caller, binding.target);
        return { status: 201, json: showSecret(await vault.bind(caller, params.name, binding)) };
      },
    }),
    defineRoute({
      method: "DELETE",
      path: `${path}/{name}/bindings/{binding}`,
      tag,
      summary: "Removes a binding; running sandboxes lose the secret",
      scope: "operate",
      audit: "fleet",
      params: z.strictObject({ name: secretName, binding: z.string().min(1).max(64) }),
      problems: [422],
      responses: { 200: { description: "the secret with its remaining bindings", schema: secret } },
      handler: async ({ caller, params }) => ({
        status: 200,
        json: showSecret(await vault.unbind(caller, params.name, params.binding)),
      }),
    }),
    defineRoute({
      method: "POST",
      path: "/api/v1/vault/rotate",
      tag,
      summary: "Encrypts the keys of all secrets with a new master key",
      scope: "administer",
      audit: "fleet",
      problems: [422],
      responses: {
        200: {
          description: "number of secrets encrypted with the new key",
          schema: z.object({ rewrapped: z.number().int() }).meta({ id: "RotatedVault" }),
        },
      },
      handler: async ({ caller }) => ({ status: 200, json: { rewrapped: await vault.rotate(caller) } }),
    }),
  ];
}

/** As bytes that can be wiped, and no others: never as text. */
async function readAll(body: unknown): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const piece of (body as AsyncIterable<Uint8Array> | undefined) ?? []) {
      bytes += piece.length;
      pieces.push(piece);
      if (bytes > secretLimits.valueBytes.max)
        throw new AppError("too_large", `the secret is too large (limit: ${secretLimits.valueBytes.max} bytes)`);
    }
    return Buffer.concat(pieces);
  } finally {
    for (const piece of pieces) piece.fill(0);
  }
}

import { z } from "zod";
import type { ApiKey } from "../core/api-key.ts";
import { AppError } from "../core/errors.ts";
import { roles } from "../core/scope.ts";
import { keyScopePattern, knownScopes } from "../identity/key-scopes.ts";
import type { Keyring } from "../identity/keyring.ts";
import { defined } from "../lib/defined.ts";
import { requestHeaders } from "../schemas/headers.ts";
import { writtenFlag } from "../schemas/written.ts";
import { httpLimits, identityLimits } from "./limits.ts";
import { defineRoute, type Route } from "./route.ts";
import { visibleNamespace } from "./visible-namespace.ts";

const path = "/api/v1/keys";
const tag = "keys";

const apiKey = z
  .object({
    id: z.string(),
    name: z.string(),
    namespace: z.string(),
    role: z.enum(roles),
    scopes: z.array(z.string()).nullable().describe("all that the key may do; null: what its role may"),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().nullable(),
    revoked_at: z.iso.datetime().nullable(),
    last_used_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "ApiKey" });

const createBody = z
  .strictObject({
    name: z.string().min(1).max(httpLimits.nameChars),
    role: z.enum(roles),
    scopes: z
      .array(z.string().regex(keyScopePattern, `unknown scope: ${knownScopes}`))
      .min(1)
      .max(identityLimits.scopesPerKey)
      .optional()
      .describe(
        "limits the key to scopes of its role, to hosted servers (server:ID) and tools of them (server:ID:TOOL)",
      ),
    namespace: requestHeaders.namespace.optional().describe("namespace of the key (default: the caller's)"),
    expires_in_seconds: z.number().int().min(1).max(identityLimits.keyLifetimeSeconds).optional(),
  })
  .meta({ id: "CreateApiKey" });

function show(key: ApiKey): z.output<typeof apiKey> {
  const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    id: key.id,
    name: key.name,
    namespace: key.namespace,
    role: key.role,
    scopes: key.scopes === null ? null : [...key.scopes],
    created_at: new Date(key.createdAtMs).toISOString(),
    expires_at: time(key.expiresAtMs),
    revoked_at: time(key.revokedAtMs),
    last_used_at: time(key.lastUsedAtMs),
  };
}

export function keyRoutes(keyring: Keyring, endStreams: (keyId: string) => void): Route[] {
  return [
    defineRoute({
      method: "POST",
      path,
      tag,
      summary: "Creates an API key; only this response contains the key",
      scope: "administer",
      audit: "fleet",
      body: createBody,
      responses: { 201: { description: "the key", schema: apiKey.extend({ key: z.string() }) } },
      handler: async ({ caller, body }) => {
        const lasting = body.expires_in_seconds;
        const namespace = body.namespace ?? caller.principal.namespace;
        const expiresAtMs = lasting === undefined ? undefined : Date.now() + lasting * 1000;
        const { name, role, scopes } = body;
        const request = { name, namespace, role, ...defined({ scopes, expiresAtMs }) };
        const { key, token } = await keyring.issue(request, caller);
        return { status: 201, json: { ...show(key), key: token } };
      },
    }),
    defineRoute({
      method: "GET",
      path,
      tag,
      summary: "Lists the API keys of the namespace, without their values",
      scope: "administer",
      audit: null,
      query: z.strictObject({ all_namespaces: writtenFlag.optional() }),
      responses: { 200: { description: "all keys", schema: z.array(apiKey) } },
      handler: async ({ caller, query }) => {
        const keys = await keyring.list(visibleNamespace(caller.principal, query.all_namespaces));
        return { status: 200, json: keys.map(show) };
      },
    }),
    defineRoute({
      method: "DELETE",
      path: `${path}/{id}`,
      tag,
      summary: "Revokes an API key immediately and ends its streams",
      scope: "administer",
      audit: "fleet",
      params: z.strictObject({ id: z.string().min(1).max(64) }),
      responses: { 204: { description: "the key is revoked" } },
      handler: async ({ caller, params }) => {
        if (params.id === caller.principal.id)
          throw new AppError("conflict", "a key cannot revoke itself", { hint: "use another administrator's key" });
        const key = await keyring.revoke(params.id, caller);
        endStreams(key.id);
        return { status: 204 };
      },
    }),
  ];
}

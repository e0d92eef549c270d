import { z } from "zod";
import {
  type SecretBinding,
  type SecretDelivery,
  type SecretInfo,
  type SecretTarget,
  secretNamePattern,
  secretOrigins,
  secretStates,
} from "../core/secret.ts";
import { serverIdPattern } from "../core/server.ts";
import { secretLimits } from "../vault/limits.ts";

export const secretName = z.string().regex(secretNamePattern);
const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/);

const target = z
  .union([
    z.strictObject({ sandbox_id: z.string().min(1).max(64) }),
    z.strictObject({ key_id: z.string().min(1).max(64) }),
    z.strictObject({ server_id: z.string().regex(serverIdPattern) }),
    z.strictObject({ all: z.literal(true) }),
  ])
  .describe(
    "one sandbox, all sandboxes created with an API key, one hosted server, or all sandboxes of the namespace but those of hosted servers",
  );

const delivery = z
  .discriminatedUnion("as", [
    z.strictObject({ as: z.literal("file") }),
    z.strictObject({ as: z.literal("env"), variable }),
    z.strictObject({
      as: z.literal("header"),
      header: z.string().min(1).max(secretLimits.headerCharacters),
      hosts: z.array(z.string().min(1).max(253)).min(1).max(secretLimits.hosts),
      format: z
        .string()
        .max(secretLimits.formatCharacters)
        .default("{}")
        .describe("value of the header, with {} in place of the secret"),
      variable: variable.describe("environment variable that holds a placeholder for the value"),
    }),
  ])
  .describe(
    "the file /run/secrets/NAME, an environment variable, or a header of requests to hosts, which code never sees",
  );

export const bindBody = z.strictObject({ target, deliver: delivery }).meta({ id: "BindSecret" });

const binding = z.object({ id: z.string(), target, deliver: delivery }).meta({ id: "SecretBinding" });

export const secret = z
  .object({
    name: z.string(),
    namespace: z.string(),
    origin: z.enum(secretOrigins),
    state: z.enum(secretStates).describe("the value of an expired or used-up secret is destroyed"),
    version: z.number().int().describe("increases with each new value; 0: from the daemon's environment"),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    created_by: z.string(),
    expires_at: z.iso.datetime().nullable(),
    uses_left: z.number().int().nullable().describe("number of sandboxes that may still get it; null: unlimited"),
    bindings: z.array(binding),
  })
  .meta({ id: "Secret" });

export function showSecret(info: SecretInfo): z.output<typeof secret> {
  const time = (ms: number) => new Date(ms).toISOString();
  return {
    name: info.name,
    namespace: info.namespace,
    origin: info.origin,
    state: info.state,
    version: info.version,
    created_at: time(info.createdAtMs),
    updated_at: time(info.updatedAtMs),
    created_by: info.createdBy,
    expires_at: info.expiresAtMs === null ? null : time(info.expiresAtMs),
    uses_left: info.usesLeft,
    bindings: info.bindings.map(({ id, target, delivery }) => ({
      id,
      target: showTarget(target),
      deliver: showDelivery(delivery),
    })),
  };
}

function showTarget(target: SecretTarget): z.output<typeof bindBody>["target"] {
  if ("sandboxId" in target) return { sandbox_id: target.sandboxId };
  if ("serverId" in target) return { server_id: target.serverId };
  return "keyId" in target ? { key_id: target.keyId } : target;
}

function showDelivery(delivery: SecretDelivery): z.output<typeof bindBody>["deliver"] {
  return delivery.as === "header" ? { ...delivery, hosts: [...delivery.hosts] } : delivery;
}

export function readBinding(body: z.output<typeof bindBody>): Omit<SecretBinding, "id"> {
  const { target, deliver } = body;
  if ("sandbox_id" in target) return { target: { sandboxId: target.sandbox_id }, delivery: deliver };
  if ("server_id" in target) return { target: { serverId: target.server_id }, delivery: deliver };
  return { target: "key_id" in target ? { keyId: target.key_id } : target, delivery: deliver };
}

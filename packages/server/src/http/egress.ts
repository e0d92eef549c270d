import { z } from "zod";
import { egressLayers } from "../core/egress.ts";
import type { PolicyChange } from "../egress/change-policy.ts";
import { describeVerdict } from "../egress/explain.ts";
import { egressLimits } from "../egress/limits.ts";
import type { NetworkPolicies } from "../egress/network-policies.ts";
import { defined } from "../lib/defined.ts";
import {
  changeBody,
  namespaceBody,
  namespaceChangeBody,
  namespacePolicy,
  policyBody,
  sandboxEgress,
  showLayers,
  showNamespace,
  showPolicy,
  toDenyRules,
  toNamespace,
  toPolicy,
  toRules,
} from "../schemas/egress.ts";
import { sandboxId } from "../schemas/sandbox.ts";
import { written } from "../schemas/written.ts";
import { type Call, defineRoute, type Route } from "./route.ts";

const path = "/api/v1/egress";
const ofSandbox = "/api/v1/sandboxes/{id}/egress";
const tag = "egress";

const explanation = z
  .object({
    host: z.string(),
    port: z.number(),
    action: z.enum(["allow", "deny", "ask"]),
    layer: z.enum(egressLayers).nullable().describe("layer of the policy with the deciding rule"),
    rule: z.string().nullable().describe("the deciding rule; null if none matches"),
    reason: z.string().nullable(),
    rules: z
      .array(
        z.object({
          layer: z.enum(egressLayers),
          effect: z.enum(["allow", "deny"]),
          rule: z.string(),
          applies: z.boolean().describe("true if the rule covers this port"),
        }),
      )
      .describe("all rules for this host"),
  })
  .meta({ id: "EgressExplanation" });

type ChangeBody = z.output<typeof namespaceChangeBody>;

function toChange({ add = {}, remove = {}, unknown, bytes_per_second }: ChangeBody): PolicyChange {
  return defined({
    add: defined({
      allow: toRules(add.allow),
      deny: toDenyRules(add.deny),
      agentsMayAllow: toRules(add.agents_may_allow),
    }),
    remove: defined({ allow: remove.allow, deny: remove.deny, agentsMayAllow: remove.agents_may_allow }),
    unknown,
    bytesPerSecond: bytes_per_second,
  });
}

function ofNamespace(network: NetworkPolicies): Route[] {
  const responses = { 200: { description: "the policy in effect", schema: namespacePolicy } };
  return [
    defineRoute({
      method: "GET",
      path: `${path}/policy`,
      tag,
      summary: "Returns the network policy of the namespace",
      scope: "read",
      audit: null,
      responses,
      handler: async ({ caller }) => ({ status: 200, json: showNamespace(network.namespacePolicy(caller)) }),
    }),
    defineRoute({
      method: "PUT",
      path: `${path}/policy`,
      tag,
      summary: "Replaces the network policy of the namespace; running sandboxes use it immediately",
      scope: "operate",
      audit: "fleet",
      body: namespaceBody,
      problems: [422],
      responses,
      handler: async ({ caller, body }) => ({
        status: 200,
        json: showNamespace(await network.setNamespacePolicy(caller, toNamespace(body))),
      }),
    }),
    defineRoute({
      method: "PATCH",
      path: `${path}/policy`,
      tag,
      summary: "Adds and removes rules of the namespace",
      scope: "operate",
      audit: "fleet",
      body: namespaceChangeBody,
      problems: [404, 422],
      responses,
      handler: async ({ caller, body }) => ({
        status: 200,
        json: showNamespace(await network.changeNamespacePolicy(caller, toChange(body))),
      }),
    }),
  ];
}

function ofOne(network: NetworkPolicies): Route[] {
  const responses = {
    200: { description: "the sandbox's own policy, and all layers in effect", schema: sandboxEgress },
  };
  const show = ({ caller, params }: Call<z.output<typeof sandboxId>, unknown, unknown>) => {
    const { sandbox, approval } = network.sandboxPolicies(caller, params.id);
    const effective = showLayers(network.layersOf(caller, params.id));
    return { status: 200, json: { policy: showPolicy(sandbox), approved: showPolicy(approval), effective } };
  };
  return [
    defineRoute({
      method: "GET",
      path: ofSandbox,
      tag,
      summary: "Returns the network policy of a sandbox, layer by layer",
      scope: "read",
      audit: null,
      params: sandboxId,
      responses,
      handler: async (call) => show(call),
    }),
    defineRoute({
      method: "PUT",
      path: ofSandbox,
      tag,
      summary: "Replaces the network policy of a sandbox; closes connections that are no longer allowed",
      scope: "operate",
      audit: "fleet",
      params: sandboxId,
      body: policyBody,
      responses,
      handler: async (call) => {
        await network.setSandboxPolicy(call.caller, call.params.id, toPolicy(call.body));
        return show(call);
      },
    }),
    defineRoute({
      method: "PATCH",
      path: ofSandbox,
      tag,
      summary: "Adds and removes rules of a sandbox",
      scope: "operate",
      audit: "fleet",
      params: sandboxId,
      body: changeBody,
      responses,
      handler: async (call) => {
        await network.changeSandboxPolicy(call.caller, call.params.id, toChange(call.body));
        return show(call);
      },
    }),
  ];
}

function explainRoute(network: NetworkPolicies): Route {
  return defineRoute({
    method: "GET",
    path: `${path}/explain`,
    tag,
    summary: "Explains whether a connection would be allowed, and by which rule; nothing is resolved or connected",
    scope: "read",
    audit: null,
    query: z.strictObject({
      host: z.string().min(1).max(egressLimits.ruleCharacters).describe("host name or IP address"),
      port: written(z.number().int().min(1).max(65_535)).default(443),
      sandbox_id: z
        .string()
        .min(1)
        .max(64)
        .optional()
        .describe("the sandbox to check (default: a new sandbox of the namespace)"),
    }),
    problems: [404],
    responses: { 200: { description: "the decision and the rules it is based on", schema: explanation } },
    handler: async ({ caller, query: { host, port, sandbox_id } }) => {
      const { verdict, ...rest } = network.explain(caller, { host, port }, sandbox_id);
      return { status: 200, json: { ...rest, ...describeVerdict(verdict) } };
    },
  });
}

export function egressRoutes(network: NetworkPolicies): Route[] {
  return [...ofNamespace(network), ...ofOne(network), explainRoute(network)];
}

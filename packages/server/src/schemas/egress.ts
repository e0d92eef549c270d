import { z } from "zod";
import {
  type AllowRule,
  type DenyRule,
  type EgressPolicy,
  egressLayers,
  egressProtocols,
  type LayeredPolicy,
  type NamespacePolicy,
  unknownChoices,
} from "../core/egress.ts";
import type { NamespaceDraft, PolicyDraft, RuleDraft } from "../core/egress-policies.ts";
import { egressLimits } from "../egress/limits.ts";
import { formatAllowRule, formatDenyRule } from "../egress/rule-text.ts";
import { defined } from "../lib/defined.ts";

const ruleText = z.string().min(1).max(egressLimits.ruleCharacters);
const host = z.string().min(1).max(egressLimits.ruleCharacters);
const port = z.number().int().min(1).max(65_535);

const conditions = {
  ranges: z.array(z.string().max(64)).max(egressLimits.ranges).optional(),
  inspect: z.boolean().optional(),
  methods: z.array(z.string().max(egressLimits.methodCharacters)).max(egressLimits.methods).optional(),
  paths: z.array(z.string().max(egressLimits.pathCharacters)).max(egressLimits.paths).optional(),
  upload_ask_bytes: z.number().int().optional(),
};

const allowDraft = z
  .union([
    ruleText.describe("NAME, NAME:PORT or NAME:PORT/PROTOCOL; default port 443"),
    z.strictObject({ host, port: port.optional(), protocol: z.enum(egressProtocols).optional(), ...conditions }),
  ])
  .meta({ id: "EgressRule" });

const denyDraft = z.union([ruleText, z.strictObject({ host, port: port.optional() })]).meta({ id: "EgressDenyRule" });

const allowDrafts = z.array(allowDraft).max(egressLimits.namespaceRules);
const denyDrafts = z.array(denyDraft).max(egressLimits.denyRules);
const texts = z.array(ruleText).max(egressLimits.namespaceRules);
const unknown = z.enum(unknownChoices).describe("how to handle hosts that match no rule");
const rate = z.number().int().describe("bandwidth limit of all connections together, in each direction");

const policyFields = {
  allow: allowDrafts.optional(),
  deny: denyDrafts.optional().describe("overrides all rules that allow"),
  unknown: unknown.optional(),
  bytes_per_second: rate.optional(),
};
const agentsMayAllow = "names that keys of the role agent may let out of their own sandboxes";

/** What a sandbox may reach, as its creator asks for it. */
export const policyBody = z
  .strictObject(policyFields)
  .meta({ id: "EgressPolicyRequest", examples: [{ allow: ["api.example.com"] }] });
export const namespaceBody = z
  .strictObject({ ...policyFields, agents_may_allow: allowDrafts.optional().describe(agentsMayAllow) })
  .meta({ id: "NamespaceEgressRequest", examples: [{ allow: ["api.example.com"] }] });

const changeFields = { unknown: unknown.nullable().optional(), bytes_per_second: rate.nullable().optional() };
const lists = { allow: allowDrafts.optional(), deny: denyDrafts.optional() };
const textLists = { allow: texts.optional(), deny: texts.optional() };
export const changeBody = z
  .strictObject({
    add: z.strictObject(lists).optional(),
    remove: z.strictObject(textLists).optional().describe("rules to remove, as text without conditions"),
    ...changeFields,
  })
  .meta({ id: "EgressChange", examples: [{ add: { allow: ["api.example.com"] } }] });
export const namespaceChangeBody = z
  .strictObject({
    add: z.strictObject({ ...lists, agents_may_allow: allowDrafts.optional() }).optional(),
    remove: z.strictObject({ ...textLists, agents_may_allow: texts.optional() }).optional(),
    ...changeFields,
  })
  .meta({ id: "NamespaceEgressChange", examples: [{ add: { allow: ["api.example.com"] } }] });

const shownAllow = z
  .object({ rule: z.string(), host: z.string(), port: z.number(), protocol: z.enum(egressProtocols), ...conditions })
  .meta({ id: "EgressAllow" });
const shownDeny = z
  .object({ rule: z.string(), host: z.string(), port: z.number().nullable() })
  .meta({ id: "EgressDeny" });

export const policy = z
  .object({
    allow: z.array(shownAllow),
    deny: z.array(shownDeny),
    unknown: z.enum(unknownChoices).nullable(),
    bytes_per_second: z.number().nullable(),
  })
  .meta({ id: "EgressPolicy" });
export const namespacePolicy = policy.extend({ agents_may_allow: z.array(shownAllow) }).meta({ id: "NamespaceEgress" });

export const sandboxEgress = z
  .object({
    policy: policy.describe("the sandbox's own policy, set by an operator"),
    approved: policy.describe("rules added by approvals"),
    effective: z.array(policy.extend({ layer: z.enum(egressLayers) })).describe("all rules in effect, layer by layer"),
  })
  .meta({ id: "SandboxEgress" });

type ShownAllow = z.output<typeof shownAllow>;
type DraftOf = z.output<typeof allowDraft>;

function showAllow(rule: AllowRule): ShownAllow {
  const { host, port, protocol, ranges, inspect, methods, paths, uploadAskBytes } = rule;
  const more = { ranges, inspect, methods, paths, upload_ask_bytes: uploadAskBytes };
  return { rule: formatAllowRule(rule), host, port, protocol, ...(defined(more) as Partial<ShownAllow>) };
}

function showDeny(rule: DenyRule): z.output<typeof shownDeny> {
  return { rule: formatDenyRule(rule), host: rule.host, port: rule.port ?? null };
}

export function showPolicy({ allow, deny, unknown, bytesPerSecond }: EgressPolicy): z.output<typeof policy> {
  return {
    allow: allow.map(showAllow),
    deny: deny.map(showDeny),
    unknown: unknown ?? null,
    bytes_per_second: bytesPerSecond ?? null,
  };
}

export function showNamespace(shown: NamespacePolicy): z.output<typeof namespacePolicy> {
  return { ...showPolicy(shown), agents_may_allow: shown.agentsMayAllow.map(showAllow) };
}

export function showLayers(layers: LayeredPolicy) {
  return layers.map(({ layer, policy: one }) => ({ layer, ...showPolicy(one) }));
}

function toRule(draft: DraftOf): string | RuleDraft {
  if (typeof draft === "string") return draft;
  const { upload_ask_bytes: uploadAskBytes, ...rest } = draft;
  return defined({ ...rest, uploadAskBytes }) as RuleDraft;
}

/** Of what may be left out, what is there. */
function toDenyRule(draft: z.output<typeof denyDraft>): string | DenyRule {
  return typeof draft === "string" ? draft : defined(draft);
}

export const toDenyRules = (drafts: readonly z.output<typeof denyDraft>[] | undefined) => drafts?.map(toDenyRule);
export const toRules = (drafts: readonly DraftOf[] | undefined) => drafts?.map(toRule);

export function toPolicy(body: z.output<typeof policyBody>): PolicyDraft {
  const { allow, deny, unknown, bytes_per_second: bytesPerSecond } = body;
  return defined({ allow: toRules(allow), deny: toDenyRules(deny), unknown, bytesPerSecond });
}

export function toNamespace({ agents_may_allow, ...body }: z.output<typeof namespaceBody>): NamespaceDraft {
  return { ...toPolicy(body), ...defined({ agentsMayAllow: toRules(agents_may_allow) }) };
}

/** A policy in the form in which it was requested. */
export function showDraft({ allow, deny, unknown, bytesPerSecond }: PolicyDraft): z.output<typeof policyBody> {
  return defined({
    allow: allow?.map(showRule),
    deny: deny === undefined ? undefined : [...deny],
    unknown,
    bytes_per_second: bytesPerSecond,
  });
}

function showRule(rule: string | RuleDraft): DraftOf {
  if (typeof rule === "string") return rule;
  const { host, port, protocol, ranges, inspect, methods, paths, uploadAskBytes } = rule;
  const more = { port, protocol, ranges, inspect, methods, paths, upload_ask_bytes: uploadAskBytes };
  return { host, ...defined(more) } as DraftOf;
}

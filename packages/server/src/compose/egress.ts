/** Network policies, approvals, and the log of what sandboxes try to reach. */
import { join } from "node:path";
import { ApprovalQueue } from "../approvals/approval-queue.ts";
import type { Oversight } from "../caisson-parts.ts";
import type { HostAccess } from "../core/host-access.ts";
import type { ActivePolicies } from "../egress/active-policies.ts";
import { egressApprovalEffect } from "../egress/approval-effect.ts";
import { AttemptLog } from "../egress/attempt-log.ts";
import { egressLimits } from "../egress/limits.ts";
import { NetworkPolicies } from "../egress/network-policies.ts";
import { readyHost } from "../host-access/open-host.ts";
import { defined } from "../lib/defined.ts";
import { FileDownloads } from "../store/downloads.ts";
import type { ServiceParts } from "./service-parts.ts";
import type { Stores } from "./store.ts";

export interface Egress {
  /** The policies in force. */
  inForce: ActivePolicies;
  /** Changes them. */
  policies: NetworkPolicies;
  attempts: AttemptLog;
  approvals: ApprovalQueue;
  host: HostAccess;
  /** Files of registries that are kept for the next that asks; undefined where none are. */
  downloads: FileDownloads | undefined;
  /** Parts that the gate of each sandbox is opened with. */
  guard: Pick<Oversight, "log" | "secrets" | "asking" | "downloads" | "packageHosts">;
}

type Below = Pick<Stores, "store" | "journal" | "vault" | "redactors">;
type Parts = Pick<
  ServiceParts,
  "folder" | "policies" | "sandboxRules" | "approvals" | "host" | "packages" | "clock" | "onError"
>;

export async function openEgress(
  opened: AsyncDisposableStack,
  { store, journal, vault, redactors }: Below,
  { folder, policies: inForce, clock, onError, ...parts }: Parts,
): Promise<Egress> {
  const policies = await NetworkPolicies.open({
    policies: inForce,
    records: store.policies,
    journal,
    sandboxRules: parts.sandboxRules ?? egressLimits.sandboxRules.default,
    onError,
  });
  const attempts = await AttemptLog.open({
    records: store.attempts,
    journal,
    clock,
    namespaceOf: (id) => inForce.sandbox(id)?.namespace,
    onError,
  });
  const ready = await readyHost(parts.host, store.approvals);
  const approvals = opened.use(
    await ApprovalQueue.open({
      records: store.approvals,
      journal,
      clock,
      settings: parts.approvals,
      effects: { egress: egressApprovalEffect(policies, inForce), ...ready.effects },
      onError,
    }),
  );
  const host = ready.open({ approvals, journal, redactors });
  const asking: Oversight["asking"] = (id) => {
    const found = inForce.sandbox(id);
    return found === undefined || found.alone ? undefined : { approvals, namespace: found.namespace };
  };
  const { keepBytes = 0, knownHosts = [] } = parts.packages ?? {};
  const downloads =
    keepBytes === 0
      ? undefined
      : await FileDownloads.open(join(folder, "downloads"), { mostBytes: keepBytes, onError });
  const packageHosts = new Map(knownHosts);
  const guard = { log: attempts, secrets: vault, asking, packageHosts, ...defined({ downloads }) };
  return { inForce, policies, attempts, approvals, host, downloads, guard };
}

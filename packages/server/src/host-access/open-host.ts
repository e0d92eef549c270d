import type { ApprovalRecords } from "../core/approval.ts";
import type { HostAccess, HostHand, HostSettings } from "../core/host-access.ts";
import { closedHost } from "./closed-host.ts";
import { readPolicy } from "./decide.ts";
import { GuardedHost, type GuardedHostParts } from "./guarded-host.ts";
import { StandingAnswers } from "./standing-answers.ts";

/** Where the operator has turned it on. */
export interface OpenedHost {
  settings: HostSettings;
  hand: HostHand;
}

interface ReadyHost {
  /** What answers about it do; none while it is closed. */
  effects: { host?: StandingAnswers };
  open(parts: Pick<GuardedHostParts, "approvals" | "journal" | "redactors">): HostAccess;
}

/** In two steps, since answers are known before the queue that they are given to. */
export async function readyHost(host: OpenedHost | undefined, records: ApprovalRecords): Promise<ReadyHost> {
  if (host === undefined) return { effects: {}, open: () => closedHost };
  const policy = readPolicy(host.settings);
  const answers = await StandingAnswers.open({ records, policy, namespaces: host.settings.namespaces });
  return { effects: { host: answers }, open: (parts) => new GuardedHost({ ...host, policy, answers, ...parts }) };
}

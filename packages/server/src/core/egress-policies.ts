import type { Batch } from "./batch.ts";
/** Policies as they are asked for, kept and listed. */
import type { AllowRule, DenyRule, EgressAttempt, EgressPolicy, NamespacePolicy, UnknownChoice } from "./egress.ts";
import type { Caller } from "./principal.ts";

/** A rule as somebody gave it: unchecked, and without what is understood. */
export interface RuleDraft extends Omit<AllowRule, "port" | "protocol"> {
  port?: number;
  protocol?: string;
}

/** Rules in text or in full. */
export interface PolicyDraft {
  allow?: readonly (string | RuleDraft)[];
  deny?: readonly (string | DenyRule)[];
  unknown?: UnknownChoice;
  bytesPerSecond?: number;
}

/** For every sandbox of a place. */
export interface NetworkOptions extends PolicyDraft {
  /** Without it no rule counts: nothing leaves any sandbox. */
  enabled?: boolean;
  /** Addresses of name servers, in place of this machine's own and its hosts file: `10.0.0.2`, `127.0.0.1:5353`. */
  dnsServers?: readonly string[];
  /** Certificates, in PEM, that hosts may prove themselves by beside those of this machine, where TLS is looked into. */
  caFile?: string;
}

export interface NamespaceDraft extends PolicyDraft {
  agentsMayAllow?: readonly (string | RuleDraft)[];
}

/** Policy that an operator has set for one sandbox, and the one that approvals have added. */
export interface SandboxPolicies {
  sandbox: EgressPolicy;
  approval: EgressPolicy;
}

export interface PolicyRecords {
  namespaces(): Promise<{ namespace: string; policy: NamespacePolicy }[]>;
  putNamespace(namespace: string, policy: NamespacePolicy, within?: Batch): Promise<void>;
  sandboxes(): Promise<({ sandboxId: string } & SandboxPolicies)[]>;
  putSandbox(sandboxId: string, policies: SandboxPolicies, within?: Batch): Promise<void>;
  deleteSandbox(sandboxId: string, within?: Batch): Promise<void>;
}

export interface LoggedAttempt extends EgressAttempt {
  /** Grows; a page goes on from it. */
  sequence: number;
  namespace: string;
}

export interface AttemptQuery {
  namespace: string;
  sandboxId?: string;
  verdict?: EgressAttempt["verdict"];
  /** Attempts that started in this time, ends included. */
  fromMs?: number;
  toMs?: number;
  /** Attempts before this one, newest first. */
  before?: number;
  limit: number;
}

export interface AttemptRecords {
  insert(namespace: string, attempt: EgressAttempt, within?: Batch): Promise<void>;
  settle(id: string, end: Pick<EgressAttempt, "bytesUp" | "bytesDown" | "durationMs" | "reason">): Promise<void>;
  /** Those without an end end now, for this reason. */
  closeOpen(reason: string): Promise<void>;
  list(query: AttemptQuery): Promise<LoggedAttempt[]>;
  /** Removes all but the newest attempts of a namespace. */
  prune(namespace: string, keep: number): Promise<void>;
}

/** Policies of sandboxes, as a fleet uses them. */
export interface FleetEgress {
  /** A policy for a new sandbox; refused where this caller may not let that out. */
  check(caller: Caller, asked: PolicyDraft): EgressPolicy;
  /** Before anybody hears of the sandbox. */
  keep(sandboxId: string, policy: EgressPolicy): Promise<void>;
  /** Policy that an operator or its creator has set for it, without additions by approvals. */
  ownPolicy(sandboxId: string): EgressPolicy | undefined;
  /** It is the namespace's, or that hosted server's, from now on; what was kept for it holds. */
  entered(sandboxId: string, namespace: string, serverId: string | null): void;
  left(sandboxId: string): void;
  /** Lets names out as long as a run goes on; of the whole sandbox, which shares one way out. */
  openRun(caller: Caller, sandboxId: string, domains: readonly string[]): Disposable;
}

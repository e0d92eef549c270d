/** Egress policies of sandboxes, and outcomes of attempts to connect. */
import type { DeliveredFile } from "./layer-builder.ts";

/** `tls`: the ClientHello must name the host. `http`: each request must. `tcp`: bytes pass unread. */
export const egressProtocols = ["tls", "http", "tcp"] as const;
export type EgressProtocol = (typeof egressProtocols)[number];

/** A rule that lets something out. Text form, as in lists: `api.example.com`, `*.example.com:8443/tls`. */
export interface AllowRule {
  /** A name, `*.name` for every name below it, or an address. In ASCII, lower case, without a last dot. */
  host: string;
  port: number;
  protocol: EgressProtocol;
  /** Networks in CIDR that the name may lead to though they are private; none unless told. An address is its own. */
  ranges?: readonly string[];
  /** TLS is opened and looked into; then requests can be judged, and credentials put in. */
  inspect?: boolean;
  /** Set for a registry: its immutable files are cached for all sandboxes. No draft can set it. */
  keepsFiles?: boolean;
  /** Set for a registry: called for each file that came whole. No draft can set it. */
  delivered?: (file: DeliveredFile) => void;
  /** With inspection, or http: only these. Paths may end in `*`. */
  methods?: readonly string[];
  paths?: readonly string[];
  /** More bytes up than this on one connection wait for an approval. */
  uploadAskBytes?: number;
}

export interface DenyRule {
  /** As in an allow rule; also `*`, or a network in CIDR. Addresses and networks hold for what a name leads to as well. */
  host: string;
  /** Every port unless told. */
  port?: number;
}

/** Decision on a name that no rule matches. */
export const unknownChoices = ["deny", "ask"] as const;
export type UnknownChoice = (typeof unknownChoices)[number];

export interface EgressPolicy {
  allow: readonly AllowRule[];
  deny: readonly DenyRule[];
  unknown?: UnknownChoice;
  /** Bytes a second, each way, of all its connections together; none unless told. */
  bytesPerSecond?: number;
  /** An agent opened it: it holds as far as the namespace leaves that to agents. */
  byAgent?: true;
}

/** Policy of a namespace; it applies to each of its sandboxes. */
export interface NamespacePolicy extends EgressPolicy {
  /** Rules that keys of the role agent may add to their own sandboxes. Default: none. */
  agentsMayAllow: readonly AllowRule[];
}

/** Layers of rules. A deny in any of them beats every allow. */
export const egressLayers = ["configuration", "namespace", "sandbox", "run", "approval", "registry"] as const;
export type EgressLayer = (typeof egressLayers)[number];

/** Policies of one sandbox at one moment, by layer, in that order. The last `unknown` that is set counts. Default: deny. */
export type LayeredPolicy = readonly { layer: EgressLayer; policy: EgressPolicy }[];

/** Host and port that a program asked for. */
export interface Destination {
  /** A name, or an address where the program gave one; in any notation. */
  host: string;
  port: number;
}

/** `rule` decides about the connection; a request on it must fit one of `rules`, which `rule` is the first of. */
export interface AllowVerdict {
  action: "allow";
  layer: EgressLayer;
  rule: AllowRule;
  rules: readonly AllowRule[];
  /** Private networks that it may lead to, by all rules that match. */
  ranges: readonly string[];
}

/** Nothing was found to say why when layer and rule are null. */
export interface DenyVerdict {
  action: "deny";
  layer: EgressLayer | null;
  rule: DenyRule | null;
  /** A sentence for whoever asked. */
  reason: string;
}

/** The answer of `decide`: pure, and complete enough to be shown. */
export type EgressVerdict = AllowVerdict | DenyVerdict | { action: "ask" };

/** One attempt, in the log and in events (NET-11). Never bodies. */
export interface EgressAttempt {
  id: string;
  sandboxId: string;
  host: string;
  port: number;
  /** Address that was dialled; null when none was. */
  address: string | null;
  verdict: "allowed" | "denied" | "failed";
  /** Text form of the deciding rule; null when none matched. */
  rule: string | null;
  layer: EgressLayer | null;
  /** Why it was denied, failed or cut. */
  reason: string | null;
  approvalId: string | null;
  bytesUp: number;
  bytesDown: number;
  startedAtMs: number;
  /** Null while it goes on. */
  durationMs: number | null;
}

/** How an attempt that was allowed ended. */
export interface AttemptEnd extends Pick<EgressAttempt, "bytesUp" | "bytesDown"> {
  durationMs: number;
  /** Why it was cut; null when it ended by itself. */
  reason: string | null;
}

/** Source of a sandbox's policy; the gate asks it at each connection and is notified of changes. */
export interface PolicySource {
  policyOf(sandboxId: string): LayeredPolicy;
  /** Calls back, which must not throw, after the policy of that sandbox changed, until the returned function is called. */
  watch(sandboxId: string, changed: () => void): () => void;
}

export interface EgressLog {
  /**
   * The verdict, before a byte of the connection flows: resolves when it would survive a kill -9 (AUD-01), and a
   * rejection refuses the connection. What is not `allowed` comes with its totals. Dialling need not wait for it.
   */
  attempted(attempt: EgressAttempt): Promise<void>;
  /** The totals of one that was allowed. */
  ended(sandboxId: string, attemptId: string, end: AttemptEnd): void;
}

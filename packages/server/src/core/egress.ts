/** What may leave a sandbox, and what became of each attempt. */

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
  /** Of a registry: what never changes there is kept, for whoever asks next. No draft can say so. */
  keepsFiles?: boolean;
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

/** What happens to a name that no rule knows. */
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

/** That of a namespace holds for each of its sandboxes. */
export interface NamespacePolicy extends EgressPolicy {
  /** What keys of the role agent may let out of their own sandboxes; nothing unless told. */
  agentsMayAllow: readonly AllowRule[];
}

/** Where a rule stands. A deny in any of them beats every allow. */
export const egressLayers = ["configuration", "namespace", "sandbox", "run", "approval", "registry"] as const;
export type EgressLayer = (typeof egressLayers)[number];

/** What holds for one sandbox at one moment: policies by layer, in that order. The `unknown` of the last one that has it counts; deny otherwise. */
export type LayeredPolicy = readonly { layer: EgressLayer; policy: EgressPolicy }[];

/** What a program asked for. */
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
  /** That was dialled; null when nothing was. */
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

/** Where the policy of a sandbox comes from; the gate asks at each connection and is told of changes. */
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

/** What may leave a sandbox, and what became of each attempt. */

/** `tls`: the ClientHello must name the host. `http`: each request must. `tcp`: bytes pass unread. 443 is tls and 80 http unless told. */
export const egressProtocols = ["tls", "http", "tcp"] as const;
export type EgressProtocol = (typeof egressProtocols)[number];

/** A rule that lets something out. Text form, as in lists: `api.example.com`, `*.example.com:8443/tls`. */
export interface AllowRule {
  /** A name, `*.name` for every name below it, or an address. In ASCII, lower case, without a last dot. */
  host: string;
  port: number;
  protocol: EgressProtocol;
  /** Networks in CIDR that the name may lead to though they are private; none unless told. */
  ranges?: readonly string[];
  /** TLS is opened and looked into; then requests can be judged, and credentials put in. */
  inspect?: boolean;
  /** With inspection, or http: only these. Paths may end in `*`. */
  methods?: readonly string[];
  paths?: readonly string[];
  /** More bytes up than this on one connection wait for an approval. */
  uploadAskBytes?: number;
}

export interface DenyRule {
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
}

/** Where a rule stands. A deny in any of them beats every allow. */
export const egressLayers = ["namespace", "sandbox", "run", "approval", "registry"] as const;
export type EgressLayer = (typeof egressLayers)[number];

/** What holds for one sandbox at one moment: policies by layer, in that order. The `unknown` of the last one that has it counts; deny otherwise. */
export type LayeredPolicy = readonly { layer: EgressLayer; policy: EgressPolicy }[];

/** What a program asked for. */
export interface Destination {
  /** A name, or an address where the program gave one. */
  host: string;
  port: number;
}

/** The answer of `decide`: pure, and complete enough to be shown. */
export type EgressVerdict =
  | { action: "allow"; layer: EgressLayer; rule: AllowRule }
  | { action: "deny"; layer: EgressLayer | null; rule: DenyRule | null; reason: string }
  | { action: "ask" };

/** One attempt, in the log and in events (NET-11). Never bodies. */
export interface EgressAttempt {
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
  durationMs: number;
}

/** Where the policy of a sandbox comes from; the gate asks at each connection and is told of changes. */
export interface PolicySource {
  policyOf(sandboxId: string): LayeredPolicy;
  /** Calls back after the policy of that sandbox changed, until the returned function is called. */
  watch(sandboxId: string, changed: () => void): () => void;
}

/** Told of each attempt once it has ended, and of each refusal. */
export interface EgressLog {
  attempted(attempt: EgressAttempt): void;
}

import type { Transport } from "./transport.ts";

/** In text `NAME[:PORT][/PROTOCOL]`, or with conditions. */
export type EgressRule =
  | string
  | {
      host: string;
      /** 443 unless told. */
      port?: number;
      /** `tls`: the handshake must name the host; `http`: each request must; `tcp`: bytes pass unread. */
      protocol?: "tls" | "http" | "tcp";
      /** Private networks that it may lead to. */
      ranges?: string[];
      inspect?: boolean;
      methods?: string[];
      paths?: string[];
      upload_ask_bytes?: number;
    };

export type EgressDenyRule = string | { host: string; port?: number };

/** Network policy of a sandbox. */
export interface NetworkRequest {
  allow?: EgressRule[];
  /** Beats every allow, whoever made it. */
  deny?: EgressDenyRule[];
  /** Decision on a name that no rule matches. */
  unknown?: "deny" | "ask";
  bytes_per_second?: number;
}

export interface NamespaceEgressRequest extends NetworkRequest {
  /** Names that keys of the role agent may let out of their own sandboxes. */
  agents_may_allow?: EgressRule[];
}

interface Lists<A, D> {
  allow?: A[];
  deny?: D[];
}

export interface EgressChange {
  add?: Lists<EgressRule, EgressDenyRule>;
  /** Rules in text, whatever their conditions. */
  remove?: Lists<string, string>;
  unknown?: "deny" | "ask" | null;
  bytes_per_second?: number | null;
}

export interface NamespaceEgressChange extends EgressChange {
  add?: Lists<EgressRule, EgressDenyRule> & { agents_may_allow?: EgressRule[] };
  remove?: Lists<string, string> & { agents_may_allow?: string[] };
}

export interface EgressAllow {
  /** In text. */
  rule: string;
  host: string;
  port: number;
  protocol: "tls" | "http" | "tcp";
  ranges?: string[] | undefined;
  inspect?: boolean | undefined;
  methods?: string[] | undefined;
  paths?: string[] | undefined;
  upload_ask_bytes?: number | undefined;
}

export interface EgressPolicy {
  allow: EgressAllow[];
  deny: { rule: string; host: string; port: number | null }[];
  unknown: "deny" | "ask" | null;
  bytes_per_second: number | null;
}

export interface NamespaceEgress extends EgressPolicy {
  agents_may_allow: EgressAllow[];
}

export type EgressLayer = "configuration" | "namespace" | "sandbox" | "run" | "approval" | "registry";

export interface SandboxEgress {
  /** Its own, as an operator set it. */
  policy: EgressPolicy;
  /** Rules that approvals have added. */
  approved: EgressPolicy;
  /** All that holds now, layer by layer. */
  effective: (EgressPolicy & { layer: EgressLayer })[];
}

export interface EgressExplanation {
  host: string;
  port: number;
  action: "allow" | "deny" | "ask";
  layer: EgressLayer | null;
  /** The one that decides; null when none matches. */
  rule: string | null;
  reason: string | null;
  /** Every rule for this host. */
  rules: { layer: EgressLayer; effect: "allow" | "deny"; rule: string; applies: boolean }[];
}

export interface EgressAttempt {
  id: string;
  sandbox_id: string;
  host: string;
  port: number;
  address: string | null;
  verdict: "allowed" | "denied" | "failed";
  rule: string | null;
  layer: EgressLayer | null;
  reason: string | null;
  approval_id: string | null;
  bytes_up: number;
  bytes_down: number;
  started_at: string;
  /** Null while it goes on. */
  duration_ms: number | null;
}

export interface EgressLogQuery {
  sandbox_id?: string;
  verdict?: EgressAttempt["verdict"];
  limit?: number;
  cursor?: string;
}

const path = "/api/v1/egress";

/** Egress policies of a namespace, and its log of attempts to connect. */
export class Egress {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  policy(): Promise<NamespaceEgress> {
    return this.#transport.json("GET", `${path}/policy`);
  }

  /** In place of the one before; live sandboxes follow at once. */
  setPolicy(policy: NamespaceEgressRequest): Promise<NamespaceEgress> {
    return this.#transport.json("PUT", `${path}/policy`, { json: policy });
  }

  changePolicy(change: NamespaceEgressChange): Promise<NamespaceEgress> {
    return this.#transport.json("PATCH", `${path}/policy`, { json: change });
  }

  /** Explains the decision on a connection, with its rule; for a sandbox, or for a new one. */
  explain(destination: { host: string; port?: number; sandbox_id?: string }): Promise<EgressExplanation> {
    return this.#transport.json("GET", `${path}/explain`, { query: { ...destination } });
  }

  /** A page of what was tried, newest first. */
  log(query: EgressLogQuery = {}): Promise<EgressAttempt[]> {
    return this.#transport.json("GET", `${path}/log`, { query: { ...query } });
  }
}

/** Egress policy of one sandbox. */
export class SandboxEgressRules {
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, sandboxPath: string) {
    this.#transport = transport;
    this.#path = `${sandboxPath}/egress`;
  }

  get(): Promise<SandboxEgress> {
    return this.#transport.json("GET", this.#path);
  }

  /** In place of its own policy; what is no longer allowed is cut. */
  set(policy: NetworkRequest): Promise<SandboxEgress> {
    return this.#transport.json("PUT", this.#path, { json: policy });
  }

  change(change: EgressChange): Promise<SandboxEgress> {
    return this.#transport.json("PATCH", this.#path, { json: change });
  }
}

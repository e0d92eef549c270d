import type { Transport } from "./transport.ts";

export type ApprovalState = "pending" | "approved" | "denied" | "expired" | "cancelled";
export type ApprovalKind = "egress" | "upload" | "command" | "host";
/** This attempt, this sandbox as long as it lives, or the whole namespace from now on. */
export type ApprovalScope = "once" | "sandbox" | "always";

/** A question to a human. Code in a sandbox may have chosen subject, text and detail. */
export interface ApprovalInfo {
  id: string;
  kind: ApprovalKind;
  namespace: string;
  sandbox_id: string | null;
  /** The run that asked first. */
  run_id: string | null;
  subject: string;
  text: string | null;
  detail: Record<string, string | number | boolean | null>;
  state: ApprovalState;
  scope: ApprovalScope | null;
  reason: string | null;
  asked: number;
  asked_by: string | null;
  decided_by: string | null;
  created_at: string;
  expires_at: string;
  decided_at: string | null;
  used_at: string | null;
  revoked_at: string | null;
}

export interface EgressRequest {
  kind?: "egress";
  host: string;
  port?: number;
  sandbox_id?: string;
  purpose?: string;
  timeout_seconds?: number;
  wait_seconds?: number;
}

export interface ApprovalFilter {
  state?: ApprovalState;
  kind?: ApprovalKind;
  sandbox_id?: string;
  limit?: number;
  cursor?: string;
}

export interface ApprovalAnswer {
  scope?: ApprovalScope;
  reason?: string;
}

const path = "/api/v1/approvals";
const one = (id: string) => `${path}/${encodeURIComponent(id)}`;
const pollSeconds = 30;

export class Approvals {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Asks a human to open a name, for a sandbox or for the namespace. */
  request(asked: EgressRequest): Promise<ApprovalInfo> {
    return this.#transport.json("POST", path, { json: asked, timeoutMs: null });
  }

  list(filter: ApprovalFilter = {}): Promise<ApprovalInfo[]> {
    return this.#transport.json("GET", path, { query: { ...filter } });
  }

  get(id: string): Promise<ApprovalInfo> {
    return this.#transport.json("GET", one(id));
  }

  /** As it is once it is no longer pending, or when the time is over. */
  async wait(id: string, options: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<ApprovalInfo> {
    const { timeoutMs = Number.POSITIVE_INFINITY, signal } = options;
    const end = performance.now() + timeoutMs;
    for (;;) {
      const left = Math.max(0, end - performance.now()) / 1000;
      const query = { timeout_seconds: Math.min(pollSeconds, left) };
      const call = { query, timeoutMs: null, ...(signal === undefined ? {} : { signal }) };
      const found = await this.#transport.json<ApprovalInfo>("GET", `${one(id)}/wait`, call);
      if (found.state !== "pending" || left <= pollSeconds) return found;
    }
  }

  /** Once unless told. Takes an operator's key, as all answers do. */
  approve(id: string, answer: ApprovalAnswer = {}): Promise<ApprovalInfo> {
    return this.#transport.json("POST", `${one(id)}/decide`, { json: { approve: true, ...answer } });
  }

  deny(id: string, answer: ApprovalAnswer = {}): Promise<ApprovalInfo> {
    return this.#transport.json("POST", `${one(id)}/decide`, { json: { approve: false, ...answer } });
  }

  /** Takes an answer back that still holds. */
  revoke(id: string): Promise<ApprovalInfo> {
    return this.#transport.json("POST", `${one(id)}/revoke`);
  }
}

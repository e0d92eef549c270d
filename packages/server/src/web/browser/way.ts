/** What policy said about the hosts of a page, from the log of the sandbox: the browser itself shows no more than an error. */
import type { Approvals } from "../../core/approval.ts";
import type { Destination, EgressVerdict } from "../../core/egress.ts";
import type { AttemptRecords, LoggedAttempt } from "../../core/egress-policies.ts";
import { AppError } from "../../core/errors.ts";
import { refused, whyOf } from "../../core/policy-refusal.ts";
import type { Caller } from "../../core/principal.ts";
import { browserLimits } from "./limits.ts";

export interface WayParts {
  attempts: Pick<AttemptRecords, "list">;
  approvals: Pick<Approvals, "request" | "wait" | "get" | "list" | "holdMs">;
  verdictOf: (sandboxId: string, destination: Destination) => EgressVerdict["action"];
}

export interface BlockedHost {
  host: string;
  port: number;
  reason: string;
}

export function destinationOf({ hostname, port, protocol }: URL): Destination {
  const host = hostname.replace(/^\[|\]$/g, "");
  return { host, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
}

/** The way out of one browser, while one page is open. */
export class Way {
  readonly #parts: WayParts;
  readonly #caller: Caller;
  readonly #sandboxId: string;
  readonly #session: string;
  #since = 0;

  constructor(parts: WayParts, caller: Caller, sandbox: { id: string; session: string }) {
    this.#parts = parts;
    this.#caller = caller;
    this.#sandboxId = sandbox.id;
    this.#session = sandbox.session;
  }

  /** Browsers give up before humans do: who must be asked about the page is asked first. */
  async ask(destination: Destination, signal: AbortSignal): Promise<void> {
    const { approvals, verdictOf } = this.#parts;
    const { host, port } = destination;
    if (verdictOf(this.#sandboxId, destination) !== "ask") return;
    const question = { kind: "egress", sandboxId: this.#sandboxId, subject: `${host}:${port}`, detail: { host, port } };
    const asked = await approvals.request(this.#caller, question as Parameters<Approvals["request"]>[1]);
    const waits = asked.state === "pending" ? approvals.wait(this.#caller, asked.id, approvals.holdMs, signal) : asked;
    const answer = await waits;
    if (answer.state === "approved") return;
    throw this.#refusal(destination, whyOf(answer), null, answer);
  }

  /** From here on what is tried belongs to the page. */
  async begin(): Promise<void> {
    this.#since = (await this.#list(1))[0]?.sequence ?? 0;
  }

  /** Why the page itself was not reached, as far as policy has to do with it. */
  async explain(destination: Destination): Promise<AppError | undefined> {
    const { approvals } = this.#parts;
    const { host, port } = destination;
    const found = (await this.#tried()).find((one) => one.host === host && one.port === port);
    if (found !== undefined && found.verdict === "failed")
      return new AppError("unavailable", found.reason ?? `${host}:${port} was not reached`, {
        details: { host, port },
      });
    if (found !== undefined) {
      const approval =
        found.approvalId === null
          ? undefined
          : await approvals.get(this.#caller, found.approvalId).catch(() => undefined);
      return this.#refusal(destination, found.reason ?? "no rule lets it out", found.rule, approval);
    }
    const query = {
      state: "pending",
      kind: "egress",
      sandboxId: this.#sandboxId,
      limit: browserLimits.blocked,
    } as const;
    const pending = (await approvals.list(this.#caller, query)).find(({ subject }) => subject === `${host}:${port}`);
    return pending && this.#refusal(destination, whyOf(pending), null, pending);
  }

  /** Other hosts that the page wanted and did not reach, each once. */
  async blocked(page: Destination): Promise<BlockedHost[]> {
    const hosts = new Map<string, BlockedHost>();
    for (const { host, port, reason } of await this.#tried()) {
      if (host === page.host && port === page.port) continue;
      hosts.set(`${host}:${port}`, { host, port, reason: reason ?? "it was not reached" });
    }
    return [...hosts.values()].slice(0, browserLimits.blocked);
  }

  async #tried(): Promise<LoggedAttempt[]> {
    const rows = await this.#list(browserLimits.attempts);
    return rows.filter(({ sequence, verdict }) => sequence > this.#since && verdict !== "allowed");
  }

  #list(limit: number): Promise<LoggedAttempt[]> {
    const { namespace } = this.#caller.principal;
    return this.#parts.attempts.list({ namespace, sandboxId: this.#sandboxId, limit });
  }

  #refusal(
    { host, port }: Destination,
    why: string,
    rule: string | null,
    approval: Parameters<typeof refused>[0]["approval"],
  ): AppError {
    const place = port === 443 ? host : `${host}:${port}`;
    const ask = `ask with request_egress and session_id ${JSON.stringify(this.#session)}, or have an operator run: caisson egress ${place}`;
    const details = { host, port, session_id: this.#session };
    return refused({ kind: "egress", what: `${host}:${port}`, why, rule, approval, ask, details });
  }
}

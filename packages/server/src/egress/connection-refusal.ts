/** Words the refusal that a program gets: that it was policy, which rule, and what can be done (NET-09). */
import type { Approval } from "../core/approval.ts";
import type { Destination, EgressLayer } from "../core/egress.ts";
import { AppError } from "../core/errors.ts";
import type { RefusalKind } from "../core/network-refusal.ts";
import { refused } from "../core/policy-refusal.ts";

export interface ConnectionRefusal {
  kind: RefusalKind;
  destination: Destination;
  /** A sentence. */
  reason: string;
  rule: string | null;
  layer: EgressLayer | null;
  /** Hint for cases that no rule and no answer solves. */
  ask?: string;
  /** The question that was asked about it. */
  approval?: Approval | undefined;
}

const statuses = { denied: 403, failed: 502, limited: 429 } as const;
const titles = {
  denied: "Not allowed by the network policy of this sandbox",
  failed: "Allowed, but not reached",
  limited: "A limit is reached",
} as const;

const hints = {
  failed: "policy allows it, but the host could not be reached: check the name and the port, or try again later",
  limited: "close connections, or wait until some have ended, and try again",
} as const;

export interface RefusalResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** RFC 9457, like the problems of the API. */
export function formatRefusal(refusal: ConnectionRefusal): RefusalResponse {
  const { kind } = refusal;
  const { code, message, hint, details } = errorOf(refusal);
  const problem = { type: `urn:caisson:error:${code}`, title: titles[kind], status: statuses[kind], detail: message };
  return {
    status: statuses[kind],
    headers: { "content-type": "application/problem+json", "cache-control": "no-store", "x-caisson-egress": kind },
    body: `${JSON.stringify({ ...problem, code, hint, details })}\n`,
  };
}

/** As an error, for whoever is no program of the sandbox. */
export function errorOf({ kind, destination, reason, rule, layer, approval, ask }: ConnectionRefusal): AppError {
  const { host, port } = destination;
  const details = { host, port, layer };
  if (kind !== "denied")
    return new AppError(kind === "failed" ? "unavailable" : "limit_exceeded", reason, {
      hint: hints[kind],
      details: { ...details, rule },
    });
  // Port 0 stands for a lookup: the name is likely wanted on the usual port.
  const place = port === 443 || port === 0 ? host : `${host}:${port}`;
  const usual = `ask with request_egress, or have an operator run: caisson egress ${place}`;
  return refused({ kind: "egress", what: `${host}:${port}`, why: reason, rule, approval, ask: ask ?? usual, details });
}

/** What is said to a program whose connection was refused: that it was policy, which rule, and what can be done (NET-09). */
import type { Destination, EgressLayer } from "../core/egress.ts";

export interface Refusal {
  /** `denied` by policy or a human, `failed` to be reached, `limited` by what a sandbox may have at once. */
  kind: "denied" | "failed" | "limited";
  destination: Destination;
  /** A sentence. */
  reason: string;
  rule: string | null;
  layer: EgressLayer | null;
  approvalId: string | null;
}

const statuses = { denied: 403, failed: 502, limited: 429 } as const;
const codes = { denied: "forbidden", failed: "unavailable", limited: "limit_exceeded" } as const;
const titles = {
  denied: "Not allowed by the network policy of this sandbox",
  failed: "Allowed, but not reached",
  limited: "A limit is reached",
} as const;

export interface RefusalAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** RFC 9457, like the problems of the API. */
export function formatRefusal({ kind, destination, reason, rule, layer, approvalId }: Refusal): RefusalAnswer {
  const { host, port } = destination;
  const body = JSON.stringify({
    type: `urn:caisson:error:${codes[kind]}`,
    title: titles[kind],
    status: statuses[kind],
    detail: reason,
    code: codes[kind],
    ...(kind === "denied" ? { hint: hintOf(destination, approvalId) } : {}),
    details: {
      host,
      port,
      rule,
      layer,
      approval_id: approvalId,
      ...(approvalId === null ? {} : { wait: `/api/v1/approvals/${approvalId}/wait` }),
    },
  });
  return {
    status: statuses[kind],
    headers: { "content-type": "application/problem+json", "cache-control": "no-store", "x-caisson-egress": kind },
    body: `${body}\n`,
  };
}

function hintOf({ host, port }: Destination, approvalId: string | null): string {
  const place = port === 443 ? host : `${host}:${port}`;
  if (approvalId !== null) return `approval ${approvalId} was not given; an operator may still allow ${place}`;
  return `this is no fault of the network: ask with request_egress, or have an operator run: caisson egress ${place}`;
}

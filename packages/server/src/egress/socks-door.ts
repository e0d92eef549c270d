import type { Duplex } from "node:stream";
import type { Destination } from "../core/egress.ts";
import type { ConnectionRefusal } from "./connection-refusal.ts";
import { type AllowedDestination, type Firewall, readingOf } from "./firewall.ts";
import { gateLimits } from "./gate-limits.ts";
import { readUntil } from "./read-until.ts";
import { reset } from "./relay.ts";
import { greetingReply, readGreeting, readRequest, requestReply, type SocksReply, type SocksStep } from "./socks.ts";
import type { UpstreamConnection } from "./upstream-connection.ts";

export interface SocksDoorParts {
  firewall: Firewall;
  alias: (destination: Destination) => Destination;
  forwardConnected: (client: Duplex, allowed: AllowedDestination, upstream: UpstreamConnection) => Promise<void>;
  serveDirect: (client: Duplex, destination: Destination, allowed: AllowedDestination) => void;
}

const replies = { denied: "notAllowed", failed: "hostUnreachable", limited: "failed" } as const satisfies Record<
  ConnectionRefusal["kind"],
  SocksReply
>;

/** A program that speaks SOCKS5. It is told by a number why it is refused; the sentence is in the log. */
export async function serveSocks(parts: SocksDoorParts, client: Duplex): Promise<void> {
  const { firewall, alias, forwardConnected, serveDirect } = parts;
  const greeted = await take(client, readGreeting);
  if (greeted === undefined) return reset(client);
  if (!greeted) return refuse(client, greetingReply(false));
  client.write(greetingReply(true));
  const asked = await take(client, readRequest);
  if (asked === undefined) return reset(client);
  if (typeof asked === "string") return refuse(client, requestReply(asked));
  const judged = await firewall.judge(alias(asked));
  if (judged.allowed === undefined) return refuse(client, requestReply(replies[judged.refusal.kind]));
  const { allowed } = judged;
  const { rule } = allowed.verdict;
  if (rule.protocol === "http") {
    client.write(requestReply("ok"));
    return serveDirect(client, allowed.destination, allowed);
  }
  const opened = await firewall.connect(allowed, readingOf(rule));
  if (opened.upstream === undefined) return refuse(client, requestReply(replies[opened.refusal.kind]));
  client.write(requestReply("ok"));
  return forwardConnected(client, allowed, opened.upstream);
}

function take<T>(client: Duplex, read: (bytes: Buffer) => SocksStep<T>): Promise<T | undefined> {
  return readUntil(client, gateLimits.greetingMs, (bytes) => {
    const step = read(bytes);
    return step.state === "read" ? { value: step.value, used: step.bytes } : step.state;
  });
}

function refuse(client: Duplex, answer: Buffer): void {
  client.end(answer);
  client.resume();
}

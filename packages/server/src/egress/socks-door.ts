import type { Duplex } from "node:stream";
import type { Destination } from "../core/egress.ts";
import { gateLimits } from "./gate-limits.ts";
import type { Outlet } from "./outlet.ts";
import { type Passage, type Permit, readingOf } from "./passage.ts";
import { readUntil } from "./read-until.ts";
import type { Refusal } from "./refusal.ts";
import { reset } from "./relay.ts";
import { greetingAnswer, readGreeting, readRequest, requestAnswer, type SocksReply, type SocksStep } from "./socks.ts";

export interface SocksDoorParts {
  passage: Passage;
  alias: (destination: Destination) => Destination;
  carryReached: (client: Duplex, permit: Permit, outlet: Outlet) => Promise<void>;
  serveDirect: (client: Duplex, destination: Destination, permit: Permit) => void;
}

const replies = { denied: "notAllowed", failed: "hostUnreachable", limited: "failed" } as const satisfies Record<
  Refusal["kind"],
  SocksReply
>;

/** A program that speaks SOCKS5. It is told by a number why it is refused; the sentence is in the log. */
export async function serveSocks(parts: SocksDoorParts, client: Duplex): Promise<void> {
  const { passage, alias, carryReached, serveDirect } = parts;
  const greeted = await take(client, readGreeting);
  if (greeted === undefined) return reset(client);
  if (!greeted) return refuse(client, greetingAnswer(false));
  client.write(greetingAnswer(true));
  const asked = await take(client, readRequest);
  if (asked === undefined) return reset(client);
  if (typeof asked === "string") return refuse(client, requestAnswer(asked));
  const judged = await passage.judge(alias(asked));
  if (judged.permit === undefined) return refuse(client, requestAnswer(replies[judged.refusal.kind]));
  const { permit } = judged;
  const { rule } = permit.verdict;
  if (rule.protocol === "http") {
    client.write(requestAnswer("ok"));
    return serveDirect(client, permit.destination, permit);
  }
  const opened = await passage.reach(permit, readingOf(rule));
  if (opened.outlet === undefined) return refuse(client, requestAnswer(replies[opened.refusal.kind]));
  client.write(requestAnswer("ok"));
  return carryReached(client, permit, opened.outlet);
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

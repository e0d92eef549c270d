/** Forwards a connection with a known destination: bytes pass as the protocol of its rule allows. */
import type { Duplex } from "node:stream";
import { checkHello, type Hello } from "./check-hello.ts";
import { type AllowedDestination, type Connected, type Firewall, readingOf } from "./firewall.ts";
import type { Inspector } from "./inspection/inspector.ts";
import { join, reset } from "./relay.ts";
import type { UpstreamConnection } from "./upstream-connection.ts";

export interface ForwardParts {
  firewall: Firewall;
  inspector: Inspector;
}

/** A connection on which nothing was said yet to the program: it is reached after all that can be checked was. */
export async function forwardConnection(
  parts: ForwardParts,
  client: Duplex,
  allowed: AllowedDestination,
): Promise<void> {
  const { firewall } = parts;
  const { rule } = allowed.verdict;
  const hello = await read(client, allowed);
  if (hello.objection !== undefined) {
    await firewall.refuse(allowed, "denied", hello.objection, null);
    return reset(client);
  }
  await pass(parts, client, allowed, hello.protocols, await firewall.connect(allowed, readingOf(rule)));
}

/** One whose program was told that the destination is reached, as proxies do before anything is said. */
export async function forwardConnected(
  parts: ForwardParts,
  client: Duplex,
  allowed: AllowedDestination,
  upstream: UpstreamConnection,
): Promise<void> {
  const hello = await read(client, allowed);
  if (hello.objection !== undefined) {
    upstream.refuse(hello.objection);
    return reset(client);
  }
  await pass(parts, client, allowed, hello.protocols, { upstream });
}

async function read(client: Duplex, { verdict, destination }: AllowedDestination): Promise<Hello> {
  return verdict.rule.protocol === "tls" ? checkHello(client, destination.host) : { protocols: [] };
}

async function pass(
  { inspector }: ForwardParts,
  client: Duplex,
  allowed: AllowedDestination,
  offered: readonly string[],
  opened: Connected,
): Promise<void> {
  if (allowed.verdict.rule.inspect === true) return inspector.inspect(client, allowed, offered, opened);
  if (opened.upstream === undefined) return reset(client);
  join(client, opened.upstream);
}

/** What becomes of a connection whose destination is known: bytes pass as the protocol of its rule lets them. */
import type { Duplex } from "node:stream";
import { checkHello, type Hello } from "./check-hello.ts";
import type { Inspector } from "./inspection/inspector.ts";
import type { Outlet } from "./outlet.ts";
import { type Opened, type Passage, type Permit, readingOf } from "./passage.ts";
import { join, reset } from "./relay.ts";

export interface CarryParts {
  passage: Passage;
  inspector: Inspector;
}

/** A connection on which nothing was said yet to the program: it is reached after all that can be checked was. */
export async function carry(parts: CarryParts, client: Duplex, permit: Permit): Promise<void> {
  const { passage } = parts;
  const { rule } = permit.verdict;
  const hello = await read(client, permit);
  if (hello.objection !== undefined) {
    await passage.refuse(permit, "denied", hello.objection, null);
    return reset(client);
  }
  await pass(parts, client, permit, hello.protocols, await passage.reach(permit, readingOf(rule)));
}

/** One whose program was told that the destination is reached, as proxies do before anything is said. */
export async function carryReached(parts: CarryParts, client: Duplex, permit: Permit, outlet: Outlet): Promise<void> {
  const hello = await read(client, permit);
  if (hello.objection !== undefined) {
    outlet.refuse(hello.objection);
    return reset(client);
  }
  await pass(parts, client, permit, hello.protocols, { outlet });
}

async function read(client: Duplex, { verdict, destination }: Permit): Promise<Hello> {
  return verdict.rule.protocol === "tls" ? checkHello(client, destination.host) : { protocols: [] };
}

async function pass(
  { inspector }: CarryParts,
  client: Duplex,
  permit: Permit,
  offered: readonly string[],
  opened: Opened,
): Promise<void> {
  if (permit.verdict.rule.inspect === true) return inspector.inspect(client, permit, offered, opened);
  if (opened.outlet === undefined) return reset(client);
  join(client, opened.outlet);
}

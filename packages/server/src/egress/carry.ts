/** What becomes of a connection whose destination is known: bytes pass as the protocol of its rule lets them. */
import type { Duplex } from "node:stream";
import { objectToHello } from "./check-hello.ts";
import type { Outlet } from "./outlet.ts";
import type { Passage, Permit } from "./passage.ts";
import { join, reset } from "./relay.ts";

/** A connection on which nothing was said yet to the program: it is reached after all that can be checked was. */
export async function carry(passage: Passage, client: Duplex, permit: Permit): Promise<void> {
  if (permit.verdict.rule.protocol === "tls") {
    const objection = await objectToHello(client, permit.destination.host);
    if (objection !== undefined) {
      await passage.refuse(permit, "denied", objection, null);
      return reset(client);
    }
  }
  const opened = await passage.reach(permit, permit.verdict.rule.protocol);
  if (opened.outlet === undefined) return reset(client);
  join(client, opened.outlet);
}

/** One whose program was told that the destination is reached, as proxies do before anything is said. */
export async function carryReached(client: Duplex, permit: Permit, outlet: Outlet): Promise<void> {
  if (permit.verdict.rule.protocol === "tls") {
    const objection = await objectToHello(client, permit.destination.host);
    if (objection !== undefined) {
      outlet.refuse(objection);
      return reset(client);
    }
  }
  join(client, outlet);
}

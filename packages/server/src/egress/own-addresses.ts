import { networkInterfaces } from "node:os";
import { readHost } from "./read-host.ts";

let read = { addresses: new Set<string>(), atMs: Number.NEGATIVE_INFINITY };

/** How long a look at the interfaces counts: long enough for a burst of connections. */
const freshMs = 1_000;

/** Whether an address is this machine's own: one that is public reaches the same services that loopback does. */
export function isOwnAddress(address: string): boolean {
  const now = performance.now();
  if (now - read.atMs > freshMs) {
    const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    // In the one form that addresses are compared in; a link-local one comes with its zone.
    const addresses = all.map((entry) => readHost(entry.address.replace(/%.*/, "")));
    read = { addresses: new Set(addresses.map((host) => ("host" in host ? host.host : ""))), atMs: now };
  }
  return read.addresses.has(address);
}

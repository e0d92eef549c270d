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
    read = { addresses: new Set(all.map((entry) => comparable(entry.address))), atMs: now };
  }
  return read.addresses.has(comparable(address));
}

/** In the one form that addresses are compared in; a link-local one comes with its zone. */
function comparable(address: string): string {
  const host = readHost(address.replace(/%.*/, ""));
  return "host" in host ? host.host : address;
}

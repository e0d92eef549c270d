import { BlockList, isIPv6 } from "node:net";

/** Where nothing may be dialled that a stranger named: [network, prefix, why]. */
const blocked: readonly (readonly [string, number, string])[] = [
  ["0.0.0.0", 8, "this network; connects to the host itself"],
  ["10.0.0.0", 8, "private"],
  ["100.64.0.0", 10, "carrier-grade NAT; also metadata services of some clouds"],
  ["127.0.0.0", 8, "loopback"],
  ["168.63.129.16", 32, "a cloud's metadata service on a public address"],
  ["169.254.0.0", 16, "link-local; metadata services"],
  ["172.16.0.0", 12, "private"],
  ["192.0.0.0", 24, "protocol assignments"],
  ["192.0.2.0", 24, "documentation"],
  ["192.88.99.0", 24, "6to4 relays"],
  ["192.168.0.0", 16, "private"],
  ["198.18.0.0", 15, "benchmarks"],
  ["198.51.100.0", 24, "documentation"],
  ["203.0.113.0", 24, "documentation"],
  ["224.0.0.0", 4, "multicast"],
  ["240.0.0.0", 4, "reserved, and broadcast"],
  ["::", 96, "unspecified, loopback, IPv4-compatible"],
  ["::ffff:0:0:0", 96, "IPv4-translated"],
  ["64:ff9b::", 96, "NAT64: reaches IPv4 addresses"],
  ["64:ff9b:1::", 48, "local NAT64"],
  ["100::", 64, "discard"],
  ["2001::", 32, "Teredo: reaches IPv4 addresses"],
  ["2001:db8::", 32, "documentation"],
  ["2002::", 16, "6to4: reaches IPv4 addresses"],
  ["fc00::", 7, "unique local"],
  ["fe80::", 10, "link-local"],
  ["fec0::", 10, "site-local"],
  ["ff00::", 8, "multicast"],
];

const list = new BlockList();
// Not by isIPv6, whose first call takes milliseconds of every start.
for (const [network, prefix] of blocked) list.addSubnet(network, prefix, network.includes(":") ? "ipv6" : "ipv4");

/** Whether an address that a name resolved to lies where strangers' names may not lead. IPv4-mapped ones are judged as IPv4. */
export function isBlockedAddress(address: string): boolean {
  return list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

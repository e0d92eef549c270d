import { BlockList, isIP } from "node:net";

type Family = "ipv4" | "ipv6";

const familyOf = (address: string): Family => (isIP(address) === 6 ? "ipv6" : "ipv4");

/** Parses `ADDRESS` or `ADDRESS/PREFIX`; undefined if it is neither. */
export function parseNetwork(text: string): { address: string; prefix: number; family: Family } | undefined {
  const [, address = "", digits] = /^([\d.]+|[\da-f:.]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  if (isIP(address) === 0) return undefined;
  const family = familyOf(address);
  const bits = family === "ipv6" ? 128 : 32;
  const prefix = digits === undefined ? bits : Number(digits);
  return prefix > bits ? undefined : { address, prefix, family };
}

/** Returns true if an address is in one of the networks. An IPv4 address in IPv6 form (::ffff:192.0.2.1) counts as IPv4. */
export function networkList(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const { address, prefix, family } of networks.flatMap((text) => parseNetwork(text) ?? []))
    list.addSubnet(address, prefix, family);
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address));
}

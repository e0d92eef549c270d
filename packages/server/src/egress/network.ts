import { BlockList, isIP, isIPv6, SocketAddress } from "node:net";
import { egressLimits } from "./limits.ts";

interface Network {
  text: string;
  list: BlockList;
}

/** `10.0.0.0/8`, `fd00::/8`; undefined when it is no network, or one wider than a rule may name. */
export function readNetwork(text: string): Network | undefined {
  const [, address = "", digits = ""] = /^([0-9a-f.:]{2,45})\/(\d{1,3})$/i.exec(text) ?? [];
  const prefix = Number(digits);
  const family = isIPv6(address) ? "ipv6" : "ipv4";
  const bits = family === "ipv6" ? 128 : 32;
  if (isIP(address) === 0 || prefix > bits || prefix < egressLimits.rangePrefix[family]) return undefined;
  const socket = new SocketAddress({ address, family });
  // Addresses are compared as IPv4 where they can be.
  if (socket.address.startsWith("::ffff:")) return undefined;
  const list = new BlockList();
  list.addSubnet(address, prefix, family);
  return { text: `${socket.address}/${prefix}`, list };
}

/** The same few networks are asked about at every connection. */
const known = new Map<string, Network | undefined>();

function networkOf(text: string): Network | undefined {
  if (!known.has(text)) {
    if (known.size >= egressLimits.knownNetworks) known.clear();
    known.set(text, readNetwork(text));
  }
  return known.get(text);
}

/** Whether one of these networks holds an address. */
export function isWithin(address: string, networks: readonly string[]): boolean {
  const family = isIPv6(address) ? "ipv6" : "ipv4";
  return networks.some((text) => networkOf(text)?.list.check(address, family) === true);
}

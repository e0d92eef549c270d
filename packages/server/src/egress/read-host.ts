/** What a host is called, in the one form that rules and destinations are compared in. Input is hostile; nothing is looked up. */
import { isIPv6, SocketAddress } from "node:net";
import { domainToASCII, domainToUnicode } from "node:url";
import { egressLimits } from "./limits.ts";

export type HostKind = "name" | "ipv4" | "ipv6";
export type ReadHost = { kind: HostKind; host: string } | { kind: "invalid"; problem: string };

const ownLabel = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$/;
/** What a resolver takes for (part of) an address in the last place: no top-level domain is like this (RFC 3696). */
const numeric = /^([0-9]+|0x[0-9a-f]*)$/;

/** Names in ASCII and lower case without the last dot; addresses as inet_ntop writes them, IPv4-mapped ones as IPv4. */
export function readHost(text: string): ReadHost {
  // Four bytes of UTF-8 for each: what is longer can be no name, and is not worth converting.
  if (text.length > 4 * egressLimits.nameCharacters) return invalid("the name is too long");
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text;
  if (bare.includes(":")) return readIPv6(bare);
  if (bare !== text) return invalid("only IPv6 addresses can be in brackets");
  const ascii = /^[\x00-\x7f]*$/.test(text) ? text.toLowerCase() : domainToASCII(text);
  if (ascii === "") return invalid(text === "" ? "the name is empty" : "the name is not one in Unicode either");
  const name = ascii.endsWith(".") ? ascii.slice(0, -1) : ascii;
  const labels = name.split(".");
  return numeric.test(labels.at(-1) ?? "") ? readIPv4(labels) : readName(name, labels);
}

function readName(name: string, labels: readonly string[]): ReadHost {
  if (name.length > egressLimits.nameCharacters) return invalid("the name is too long");
  for (const label of labels) {
    if (label === "") return invalid("a label of the name is empty");
    if (label.length > egressLimits.labelCharacters) return invalid("a label of the name is too long");
    if (!ownLabel.test(label)) return invalid("a name has only letters, digits, hyphens and dots");
    // A second spelling of another name, or none at all.
    if (label.startsWith("xn--") && !isPunycode(label)) return invalid("a label is not valid punycode");
  }
  return { kind: "name", host: name };
}

function isPunycode(label: string): boolean {
  const unicode = domainToUnicode(label);
  return unicode !== label && domainToASCII(unicode) === label;
}

/** As inet_aton does: one to four numbers, decimal, octal or hexadecimal; the last fills what is left. */
function readIPv4(parts: readonly string[]): ReadHost {
  const numbers = parts.map(readNumber);
  const last = numbers.at(-1) ?? -1;
  const room = 256 ** (5 - parts.length);
  const isAddress = parts.length <= 4 && numbers.slice(0, -1).every((part) => part >= 0 && part < 256);
  if (!isAddress || last < 0 || last >= room) return invalid("neither a name nor an address");
  const value = numbers.slice(0, -1).reduce((sum, part, index) => sum + part * 256 ** (3 - index), last);
  const host = [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
  return { kind: "ipv4", host };
}

/** -1 for what is no number. */
function readNumber(text: string): number {
  if (/^0x[0-9a-f]{1,10}$/.test(text)) return Number.parseInt(text.slice(2), 16);
  if (/^0[0-7]{0,14}$/.test(text)) return Number.parseInt(text, 8);
  return /^[1-9][0-9]{0,11}$/.test(text) ? Number(text) : -1;
}

function readIPv6(text: string): ReadHost {
  if (!isIPv6(text) || text.includes("%")) return invalid("not an IPv6 address");
  const { address } = new SocketAddress({ address: text, family: "ipv6" });
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1];
  return mapped === undefined ? { kind: "ipv6", host: address } : { kind: "ipv4", host: mapped };
}

function invalid(problem: string): ReadHost {
  return { kind: "invalid", problem };
}

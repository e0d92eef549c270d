import { isIP } from "node:net";

/** The addresses that a hosts file gives a name, in its order; hosts(5). */
export function addressesIn(text: string, name: string): string[] {
  return text.split("\n").flatMap((line) => {
    const [address = "", ...names] = (line.split("#", 1)[0] ?? "").trim().split(/\s+/);
    return isIP(address) !== 0 && names.some((known) => known.toLowerCase() === name) ? [address] : [];
  });
}

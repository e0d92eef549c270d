import { getPublicSuffix } from "tldts";

/** The longest entry of the list, private section included, that a name ends in. */
export function suffixOf(name: string): string | null {
  return getPublicSuffix(name, { allowPrivateDomains: true, validateHostname: false });
}

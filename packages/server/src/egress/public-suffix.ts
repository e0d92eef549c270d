import { getPublicSuffix } from "tldts";

/**
 * Whether names directly below this one belong to different owners: `com`, `co.uk`, and what the list's private section
 * holds (`vercel.app`, `s3.amazonaws.com`), where anybody may have a name of their own.
 */
export function isPublicSuffix(name: string): boolean {
  const suffixOf = (host: string) => getPublicSuffix(host, { allowPrivateDomains: true, validateHostname: false });
  // The second: an entry such as `*.compute.amazonaws.com` makes each name below it a suffix.
  return suffixOf(name) === name || suffixOf(`x.${name}`) === `x.${name}`;
}

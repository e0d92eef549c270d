/** Debian 13 in place of older releases, from the same mirrors: each of them has every suite, and the same keyring signs them. */
import type { AptEntry } from "./apt-lists.ts";

/** The first release whose Python is 3.12 or newer. */
const newer = "trixie";
const older = "buster|bullseye|bookworm|oldstable|oldoldstable";
const suitePattern = new RegExp(`^(?:${older})(.*)$`);
/** Suites of others that are made for one release: cloud-sdk-bookworm. */
const foreignPattern = new RegExp(`(?:^|[^a-z])(?:${older})(?:[^a-z]|$)`);
const ends: Readonly<Record<string, string>> = {
  "": "",
  "-updates": "-updates",
  "-security": "-security",
  "/updates": "-security",
};

/** The entry with newer suites, and the suites that have no counterpart. Null when none is left. */
export function newerDebian(entry: AptEntry): { entry: AptEntry | null; left: string[] } {
  const left: string[] = [];
  const suites = entry.suites.flatMap((suite) => {
    const end = suitePattern.exec(suite)?.[1];
    if (end !== undefined && Object.hasOwn(ends, end)) return [`${newer}${ends[end]}`];
    if (!foreignPattern.test(suite)) return [suite];
    left.push(suite);
    return [];
  });
  return { entry: suites.length === 0 ? null : { ...entry, suites: [...new Set(suites)] }, left };
}

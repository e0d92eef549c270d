let suffixOf: ((name: string) => string | null) | undefined;

/** Before the first rule is checked: the list takes its time, and most runs have no rule. */
export async function loadPublicSuffixes(): Promise<void> {
  suffixOf ??= (await import("./suffix-list.ts")).suffixOf;
}

/**
 * Whether names directly below this one belong to different owners: `com`, `co.uk`, and what the list's private section
 * holds (`vercel.app`, `s3.amazonaws.com`), where anybody may have a name of their own.
 */
export function isPublicSuffix(name: string): boolean {
  const known = suffixOf;
  if (known === undefined) throw new Error("the list of public suffixes is not loaded");
  // The second: an entry such as `*.compute.amazonaws.com` makes each name below it a suffix.
  return known(name) === name || known(`x.${name}`) === `x.${name}`;
}

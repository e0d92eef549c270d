/** Forgets the oldest past so many. What is put in again counts as new once it was deleted first. */
export function keepNewest(entries: Map<string, unknown> | Set<string>, most: number): void {
  if (entries.size <= most) return;
  for (const oldest of entries.keys()) {
    entries.delete(oldest);
    if (entries.size <= most) return;
  }
}

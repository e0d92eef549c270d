/** Forgets the oldest past so many. What is put in again counts as new once it was deleted first. */
export function keepNewest(entries: Map<string, unknown> | Set<string>, most: number): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= most) return;
    entries.delete(oldest);
  }
}

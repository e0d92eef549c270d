/** Whether a tree of JSON is deeper than that: one that nobody can walk without care. */
export function isDeeper(value: unknown, most: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > most) return true;
    const inner: unknown[] = [];
    for (const item of level)
      if (typeof item === "object" && item !== null) for (const part of Object.values(item)) inner.push(part);
    level = inner;
  }
  return false;
}

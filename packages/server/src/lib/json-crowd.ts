type Names = Readonly<Record<string, unknown>>;

export function isNames(value: unknown): value is Names {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether an object has more names than that. */
export function hasMoreNames(value: unknown, most: number): boolean {
  let names = 0;
  if (isNames(value)) for (const _ in value) if (++names > most) return true;
  return false;
}

/** Whether a tree of JSON has more names and items than that, in all. */
export function isCrowded(tree: unknown, most: number): boolean {
  let level = [tree];
  for (let seen = 0; level.length > 0; ) {
    const inner: unknown[] = [];
    for (const item of level) {
      if (hasMoreNames(item, most - seen) || (Array.isArray(item) && item.length > most - seen)) return true;
      if (typeof item !== "object" || item === null) continue;
      const parts: unknown[] = Object.values(item);
      seen += parts.length;
      for (const part of parts) inner.push(part);
    }
    level = inner;
  }
  return false;
}

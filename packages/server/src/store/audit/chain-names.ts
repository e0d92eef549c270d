import type { DatabaseSync } from "node:sqlite";

/** The namespaces that have rows or checkpoints, each found by one step in an index. */
export function chainNames(db: DatabaseSync): string[] {
  const names = new Set<string>();
  for (const table of ["audit", "audit_checkpoints"]) {
    const next = db.prepare(`select namespace from ${table} where namespace > ? order by namespace limit 1`);
    for (let found = next.get(""); found !== undefined; found = next.get(String(found.namespace)))
      names.add(String(found.namespace));
  }
  return [...names].sort();
}

/** Result of a collection, or of a dry run. */
export interface Collected {
  dry_run: boolean;
  trigger: "asked" | "watermark" | "budget";
  disk_used_percent: number;
  disk_free_bytes: number;
  freed_items: number;
  freed_bytes: number;
  kinds: CollectedKind[];
}

export interface CollectedKind {
  kind: string;
  /** Before, what is in use included. */
  bytes: number;
  budget_bytes: number;
  over_budget: boolean;
  freed_items: number;
  freed_bytes: number;
  /** Before, the largest first, of kinds whose things have names: images and checkpoints. */
  things: CollectedThing[];
  /** Why nothing, or not all of it, went. */
  error: string | null;
}

export interface CollectedThing {
  id: string;
  name: string;
  /** Null: the installation's. */
  namespace: string | null;
  bytes: number;
  /** Nothing uses it: a collection removes it. */
  goes: boolean;
}

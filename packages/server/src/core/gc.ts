/** A kind of what lies in the data folder and may be of no more use (S77). Each is told to the collection when that is opened. */
export interface Collector {
  /** As results call it: `blobs`, `layers`. */
  readonly kind: string;
  /** Maximum size of all of it, items in use included. */
  readonly budgetBytes: number;
  /** Removes nothing. */
  look(): Promise<Holding>;
  /**
   * Removes what nothing uses; of what can be fetched again the part that nobody asked for longest, until so many bytes are
   * free. Each thing is judged at the moment it goes: a use that began meanwhile keeps it.
   */
  collect(cacheBytes: number): Promise<Freed>;
}

export interface Holding {
  bytes: number;
  /** Part of it that nothing uses. */
  unused: Freed;
  /** Part of it that is used and can be fetched again. */
  cacheBytes: number;
  /** Those that people know by name, the largest first; a bounded list. */
  things?: readonly HeldThing[];
}

interface HeldThing {
  id: string;
  name: string;
  /** Null: the installation's. */
  namespace: string | null;
  bytes: number;
  /** Nothing uses it: a collection removes it. */
  goes: boolean;
}

export interface Freed {
  items: number;
  bytes: number;
}

export interface CollectRequest {
  /** Only tells what would go. */
  dryRun?: boolean;
  /** True: removes all that can be fetched again, too. */
  cache?: boolean;
}

export const gcTriggers = ["asked", "watermark", "budget"] as const;
export type GcTrigger = (typeof gcTriggers)[number];

export interface GcReport {
  trigger: GcTrigger;
  dryRun: boolean;
  /** Room on the disk that holds the data folder, before the collection. */
  disk: DiskRoom;
  kinds: KindReport[];
  /** Items and bytes removed; for a dry run, those that would be. */
  freed: Freed;
}

export interface KindReport {
  kind: string;
  /** Before. */
  bytes: number;
  budgetBytes: number;
  freed: Freed;
  /** As it was before. */
  things: readonly HeldThing[];
  /** Why nothing, or not all of it, went. */
  error: string | null;
}

export interface DiskRoom {
  totalBytes: number;
  freeBytes: number;
}

/** As df counts: what is kept for root is neither. */
export function usedPercent({ totalBytes, freeBytes }: DiskRoom): number {
  return totalBytes === 0 ? 0 : (100 * (totalBytes - freeBytes)) / totalBytes;
}

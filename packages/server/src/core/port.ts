import type { Batch } from "./batch.ts";
/** Ports of programs in a sandbox, as they are reached from outside (NET-14). */

/** `private`: with an API key, by the path form. `token`: also by a browser with a link that holds a token. `public`: by anybody who reaches the daemon. */
export const portVisibilities = ["private", "token", "public"] as const;
export type PortVisibility = (typeof portVisibilities)[number];

/** A port that is more than private. */
export interface SharedPort {
  sandboxId: string;
  port: number;
  visibility: PortVisibility;
}

export interface PortRecords {
  all(): Promise<SharedPort[]>;
  /** A private one is forgotten. */
  put(port: SharedPort, within?: Batch): Promise<void>;
  deleteOf(sandboxId: string, within?: Batch): Promise<void>;
}

import { join } from "node:path";

/** Of the database, in the folder of a daemon. */
export function storePath(folder: string): string {
  return join(folder, "caisson.db");
}

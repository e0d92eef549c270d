import { join } from "node:path";

/** Of the database, in the folder of a daemon. */
export function storePath(folder: string, name = "caisson.db"): string {
  return join(folder, name);
}

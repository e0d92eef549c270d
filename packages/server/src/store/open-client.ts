import { SqliteClient } from "./sqlite-client.ts";
import type { WorkerOptions } from "./sqlite-protocol.ts";

/** Of a store's database, created if there is none: by its thread, while this one goes on. */
export function openClient(options: Pick<WorkerOptions, "path" | "walBytes">): Promise<SqliteClient> {
  return SqliteClient.open({ ...options, hasTables: true });
}

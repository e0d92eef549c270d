import { migrations } from "./migrations/all.ts";
import { SqliteClient } from "./sqlite-client.ts";
import type { WorkerOptions } from "./sqlite-protocol.ts";

/** Of a store's database, made or migrated if need be: by its thread, while this one goes on. */
export function openClient(options: Pick<WorkerOptions, "path" | "walBytes">): Promise<SqliteClient> {
  return SqliteClient.open({ ...options, migrations });
}

import { SqliteClient } from "./sqlite-client.ts";
import type { WorkerOptions } from "./sqlite-protocol.ts";

/** Opens a store's database in its thread, and creates it if there is none. */
export function openClient(
  options: Pick<WorkerOptions, "path" | "walBytes">,
  onError: (error: unknown) => void,
): Promise<SqliteClient> {
  return SqliteClient.open({ ...options, hasTables: true }, onError);
}

import { z } from "zod";
import type { Route } from "./route.ts";

/** Before a route is reached: what is not HTTP or has no place here, an Expect, headers that are too long. Or a fault of ours. */
const always = [400, 403, 417, 431, 500];
/** Of whoever has a key: which one, how many requests; and a store that cannot be asked. */
const closed = [401, 429, 503];
/** Of a body, which is looked at before a route says that it takes none. */
const withBody = [413, 415];
/** Of what changes: others were faster, or what is to be written down finds no room. */
const effects = [409, 507];
/** Of whatever starts a sandbox or asks one: its state, what its engine can do, sizes, time, room, and whether it answers. */
const ofSandbox = [409, 413, 422, 429, 503, 504, 507];

/** The statuses of the problems that a route may answer with: most of them follow from what it is. */
export function problemStatuses({
  method,
  path,
  params,
  query,
  responses,
  problems = [],
  ...route
}: Route): Set<number> {
  const statuses = new Set([...always, ...problems]);
  const add = (more: readonly number[]) => more.forEach(statuses.add, statuses);
  if (route.scope !== null) add(closed);
  if (route.scope !== null && route.audit !== null) add(effects);
  if (method !== "GET" && method !== "HEAD") add(withBody);
  if (params !== undefined || takesCursor(query)) add([404]);
  if (/^\/api\/v1\/(sandboxes\/\{id\}|signed\/)/.test(path)) add(ofSandbox);
  if (responses[206] !== undefined) add([416]);
  if (route.idempotent) add([422]);
  return statuses;
}

/** The row that a cursor names may be gone. */
function takesCursor(query: Route["query"]): boolean {
  return query instanceof z.ZodObject && "cursor" in query.shape;
}

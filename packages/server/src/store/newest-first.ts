import type { SelectQueryBuilder } from "kysely";
import { AppError } from "../core/errors.ts";
import { storeLimits } from "./limits.ts";
import type { Schema } from "./schema.ts";

type Aged = "sandboxes" | "snapshots" | "skills" | "approvals" | "kept_artifacts" | "checkpoints";

/** Where a page begins: after this row. `null`: the row that its cursor names is not there, or is not the caller's. */
export type PageStart = { createdAtMs: number; id: string } | null | undefined;

/** A page of rows, newest first; those of one moment by their ids. */
export function newestFirst<T extends Aged, O>(
  query: SelectQueryBuilder<Schema, T, O>,
  after: PageStart,
  limit: number,
): SelectQueryBuilder<Schema, T, O> {
  if (after === null)
    throw new AppError("not_found", "the entry at the cursor no longer exists", {
      hint: "list again from the first page",
    });
  // All of these tables have both columns, which Kysely cannot see through T.
  const rows = query as unknown as SelectQueryBuilder<Schema, "sandboxes", O>;
  const page =
    after === undefined
      ? rows
      : rows.where(({ eb, refTuple, tuple }) =>
          eb(refTuple("created_at_ms", "id"), "<", tuple(after.createdAtMs, after.id)),
        );
  return page
    .orderBy("created_at_ms", "desc")
    .orderBy("id", "desc")
    .limit(Math.min(limit, storeLimits.listed.max)) as unknown as SelectQueryBuilder<Schema, T, O>;
}

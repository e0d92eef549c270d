import type { Migration } from "../migrate.ts";

/** The table holds the sandboxes that there are, and is read as a whole: each index was one more page to write at a hand-over. */
export const sandboxIndexes: Migration = {
  number: 13,
  name: "sandbox-indexes",
  statements: ["drop index sandboxes_by_age", "drop index sandboxes_by_session", "drop index sandboxes_living"],
};

/** Limits of the store and the audit log. */

const KiB = 1024;
const MiB = 1024 * KiB;

/** The store: one SQLite file behind a worker thread. */
export const storeLimits = {
  /** Requests that wait for the worker; one more is refused. */
  pending: 16_384,
  /** Requests in one commit. */
  group: 256,
  /** Steps of a batch. */
  batch: 4_096,
  statements: 256,
  /** Requests that follow the last one this soon are gathered for one round of the event loop. */
  busyMs: 2,
  /** A transaction of several steps holds up all others. */
  transactionMs: 10_000,
  /** How long another program's lock is waited for: in one try, which blocks reads, between tries, and in all. */
  lockTryMs: 20,
  lockPauseMs: 50,
  lockWaitMs: 5_000,
  /** Longest delay before a commit is synced to the disk, so that 50 ms hold. */
  syncMs: 20,
  /** The log turns over past this size, and not again so soon when a reader holds it. Seldom: docs/store.md says why. */
  walBytes: 128 * MiB,
  walRetryMs: 5_000,
  /** How long a writer is waited for then; it blocks the worker. */
  walTryMs: 20,
  /** Size of the row that tests whether the store can be written. */
  probeBytes: 32 * KiB,
  listed: { default: 100, min: 1, max: 1_000 },
  /** How long the answer to a named request is kept, and how often old ones are looked for. */
  idempotencyMs: 86_400_000,
  pruneIntervalMs: 3_600_000,
} as const;

/** The audit log. */
export const auditLimits = {
  /** Maximum size of an entry's canonical form. */
  entryBytes: 16 * KiB,
  /** Maximum length of a path in an entry; a longer one ends with the hash of the whole. */
  pathCharacters: 256,
  /** Rows of countable entries that one actor adds in a minute: 20 a second. Past it they are counted. */
  budgetRows: 1_200,
  budgetMs: 60_000,
  /** Counts of one actor that name a sandbox; further sandboxes share one of each type. */
  budgetCounts: 64,
  /** Actors, and counts of all of them; past either the minute ends early. */
  budgetActors: 10_000,
  /** Counts in one transaction. */
  budgetBatch: 1_000,
  nameCharacters: 256,
  searched: { default: 100, min: 1, max: 1_000 },
  searchCharacters: 256,
  /** Rows of an export that are in memory. */
  exportedAtOnce: 500,
  /** Rows that one step of a search looks at, so that appends go on meanwhile. */
  searchWindow: 20_000,
  /** Rows, or time while there are new rows, between signed checkpoints in the database. */
  checkpointRows: 1_000,
  checkpointMs: 60_000,
  /** How often, while there are new rows, the head outside the database follows. */
  headMs: 250,
  headRetryMs: 5_000,
  headBytes: 32 * MiB,
  /** Namespaces with rows; each is named in the head. */
  chains: 10_000,
  /** Checkpoints that are signed in one go. */
  checkpointsAtOnce: 256,
  /** At a start, the newest of a chain, until one has a good signature. */
  checkpointsTried: 10,
  /** Rows of others that were found in the log: how many of the newest are kept, and how much of each. */
  foreignRows: 1_000,
  foreignCharacters: 8 * KiB,
  /** Rows of one namespace; where they begin to be many, and what is left of them when the oldest make room, as parts of that. */
  namespaceBytes: { default: 4_096 * MiB, min: 16 * MiB, max: 1_048_576 * MiB },
  alarmPart: 0.8,
  keptPart: 0.9,
  /** Younger rows never make room for others. */
  leastAgeMs: 86_400_000,
  roomRetryMs: 60_000,
  pruneRows: 2_000,
  pruneIntervalMs: 3_600_000,
  /** How long rows are kept. */
  days: { default: 90, min: 1, max: 3_650 },
  problems: 100,
  /** Content of tool calls: of arguments and of a result each, of all that a namespace has, and of a row beside its texts. */
  contentPartBytes: 64 * KiB,
  contentBytes: 64 * MiB,
  contentRowBytes: 100,
  contentDays: { default: 7, min: 1, max: 3_650 },
} as const;

/** Limits on the validation of code and data. */

const KiB = 1024;
const MiB = 1024 * KiB;

export const validationLimits = {
  /** Threads at once; each parser holds its memory in one of them. */
  workers: 2,
  /** Tasks that wait for a thread, of all and of one namespace. */
  queued: 64,
  queuedEach: 32,
  /** Time limit of one task, once a thread has it. Past it, the task and its thread are ended. */
  taskMs: 5_000,
  /** Time for a thread to start, on a busy machine. */
  startMs: 30_000,
  /** A thread that has nothing to do ends after this, and gives its memory back. */
  idleMs: 20_000,
  /** Tasks of one thread: what parsers keep between them stays bounded. */
  tasksPerWorker: 2_000,
  heapMiB: 256,
  youngHeapMiB: 32,
  stackMiB: 4,
  /** A parser takes up to a thousand times as much memory. */
  codeBytes: 256 * KiB,
  /** Items that a result lists, and the length of their texts; further ones are only counted. */
  findings: 200,
  errors: 500,
  messageCharacters: 400,
  valueCharacters: 80,
  /** Imports that auto-fix adds. */
  fixes: 50,
  /** Bytes that are read of bash's output about a script. */
  bashBytes: 4 * KiB,
  /** How deep code given to a shell within a shell is looked into. */
  shellDepth: 3,
  jsonBytes: 8 * MiB,
  schemaBytes: 256 * KiB,
  schemaNameCharacters: 100,
  csvBytes: 16 * MiB,
  columns: 1_000,
  headerCharacters: 200,
} as const satisfies Record<string, number>;

const KiB = 1024;
const MiB = 1024 * KiB;

/** Limits of the protocol that agents speak. */
export const mcpLimits = {
  /** Sessions of clients up to 2025-11-25: of one key, of all, and how long one lives without a request. */
  sessionsPerKey: 256,
  sessions: 2_048,
  sessionIdleMs: 24 * 3_600_000,
  /** A comment goes out this often on a stream that is silent. */
  keepAliveMs: 15_000,
  /** Streams of clients of 2026-07-28 that listen for changes. */
  listeners: 1_024,
  /** Calls whose client was sent away with a question: of one key, of all, and how long they wait for the answer. */
  parkedPerKey: 32,
  parked: 256,
  parkedMs: 600_000,
  /** Events kept for a client whose connection broke: of one session, and of all sessions together. */
  eventsPerSession: 1_000,
  eventBytesPerSession: 2 * MiB,
  eventBytes: 64 * MiB,
  /** When a client whose stream ended comes back for the rest. */
  retryMs: 1_000,
  /** Sessions that nobody uses are looked for this often. */
  expireEveryMs: 60_000,
  /** In a message, beside those in what a tool is given; and messages in one request, as the protocol's library has it. */
  names: 10_000,
  batch: 100,
  /** Resources that one session is told of when they change. */
  subscriptionsPerSession: 256,
  /** Files that are subscribed to by all together and by one namespace, and how often a change of one is told at most. */
  subscriptions: 10_000,
  subscriptionsPerNamespace: 2_000,
  updatesEveryMs: 100,
  /** Unread bytes of a client at which its stream is closed. */
  unreadBytes: 4 * MiB,
  /** Messages of one client that the daemon has not answered yet, before no more are read. */
  underWay: 1_024,
  /** Size of one request, with one message or several. */
  messageBytes: 16 * MiB,
  /** Time for which clients may cache lists of tools and prompts: they change only with the program. */
  listTtlMs: 300_000,
  /** Time that a question's answer has before the question is void. */
  questionSeconds: 600,
} as const;

/** Limits on approvals. */

const KiB = 1024;

export const approvalLimits = {
  /** How long a question waits for its answer. */
  timeoutMs: { default: 300_000, min: 1_000, max: 86_400_000 },
  /** How long an attempt waits before it is refused with the question's id. Under the five minutes after which clients give up. */
  holdMs: { default: 60_000, min: 0, max: 240_000 },
  /** How long a yes for once waits for its attempt. */
  onceMs: 600_000,
  pending: 4_096,
  pendingPerNamespace: 256,
  pendingPerSandbox: 16,
  /** New questions of one sandbox, and of a namespace, in a minute: a human's patience is a resource too. */
  askedPerMinute: 30,
  askedPerMinuteOfNamespace: 120,
  minuteMs: 60_000,
  /** Attempts of one question, and callers that wait for any. */
  attempts: 1_024,
  waiters: 1_024,
  waitersPerNamespace: 256,
  /** Answers of a namespace that hold for a sandbox or for always. */
  standingPerNamespace: 10_000,
  subjectChars: 512,
  /** Maximum length of text and details together, so that a human can read them. Longer code or commands are refused. */
  shownChars: 16 * KiB,
  details: 16,
  detailNameChars: 64,
  reasonChars: 500,
  /** Maximum length of the reason that an agent gives for a request. */
  purposeChars: 500,
  /** Retention of settled approvals: time, and number per namespace. */
  keptMs: 90 * 86_400_000,
  keptPerNamespace: 10_000,
  pruneIntervalMs: 3_600_000,
} as const;

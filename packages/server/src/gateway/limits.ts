/** Limits on messages between clients and hosted servers. */
const MiB = 1024 ** 2;

export const gatewayLimits = {
  messageBytes: 16 * MiB,
  depth: 64,
  sessionsPerKey: 100,
  sessions: 10_000,
  /** Requests under way in one session, and of one server. */
  underWay: 256,
  streamsPerKey: 32,
  /** A call without progress ends after this time, and any call after the second. */
  quietMs: 120_000,
  callMs: 3_600_000,
  /** Tools that one server may list. */
  tools: 1_000,
} as const;

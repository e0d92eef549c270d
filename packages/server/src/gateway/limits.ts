/** Limits on messages between clients and hosted servers. */
const MiB = 1024 ** 2;

export const gatewayLimits = {
  messageBytes: 16 * MiB,
  depth: 64,
  /** Characters of a message's id that is a text. */
  idChars: 256,
  /** Head of a server's answer over HTTP. */
  headBytes: 16 * 1024,
  sessionsPerKey: 100,
  sessions: 10_000,
  /** Sessions that nobody uses end after this time, and are looked for this often. */
  sessionIdleMs: 24 * 3_600_000,
  expireEveryMs: 60_000,
  /** Bytes that a session keeps for its server's next instance: each handshake, and roots; each subscription, and the log level. */
  keptBytes: 256 * 1024,
  keptRequestBytes: 4 * 1024,
  /** Messages that wait until the client listens for the first time. */
  heldBytes: 1 * MiB,
  /** Resources that one session is told of. */
  subscriptions: 256,
  /** Requests under way in one session, and of one server. */
  underWay: 256,
  /** Questions of one server that wait for its client's answer. */
  questions: 32,
  /** Messages of one server that wait to be passed on to one client; further notifications are dropped. */
  waitingMessages: 1_000,
  /** Bytes that a server over stdio has not read yet, past which it gets no more requests. */
  unreadBytes: 32 * MiB,
  /** Streams of one key that stay open without a request: GET, and `subscriptions/listen`. */
  streamsPerKey: 32,
  /** A call without progress ends after this time, and any call after the second. */
  quietMs: 120_000,
  callMs: 3_600_000,
  /** Time to answer `initialize`, and what the gateway asks by itself. */
  openMs: 60_000,
  /** Time that `notifications/initialized` waits for the server's own stream over HTTP. */
  listenMs: 250,
  /** Time in which a new instance asks for the roots that an earlier one asked for. */
  rootsMs: 5_000,
  /** A stream that a server ends before its answer is taken up again so often, after a pause of at most so long. */
  resumes: 10,
  resumeMs: 5_000,
  /** Tools that one server may list, and pages of lists that the gateway reads by itself. */
  tools: 1_000,
  pages: 20,
  /** Newest calls of one server that its percentiles are taken from, and servers that are counted. */
  measuredCalls: 1_000,
  countedServers: 10_000,
} as const;

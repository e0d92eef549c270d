/** Limits of the REST API and its authentication. */

const KiB = 1024;
const MiB = 1024 * KiB;

/** API keys, setup links and tickets. */
export const identityLimits = {
  keyBytes: 32,
  /** Keys that are remembered between calls. */
  cachedKeys: 4096,
  /** Revocations that are remembered: more than can happen while one key is looked up. */
  revokedKeys: 4096,
  /** Keys that are not remembered and must be looked up, for all callers together. */
  lookupsPerSecond: 500,
  /** How often the last use of a key is written down. */
  lastUsedMs: 60_000,
  /** Active API keys of one namespace. */
  keysPerNamespace: 1_000,
  /** Scopes of one key. */
  scopesPerKey: 256,
  /** The longest that a key may last, where it expires at all. */
  keyLifetimeSeconds: 10 * 365 * 86_400,
  setupLinkMs: 15 * 60_000,
  setupLinks: 16,
  /** A ticket opens one stream, for whoever cannot send a header. */
  ticketMs: 30_000,
  tickets: 4096,
} as const;

/** The REST API. */
export const httpLimits = {
  jsonBytes: 1 * MiB,
  /** A body that may hold code: JSON writes a byte as up to six. */
  codeBodyBytes: 24 * MiB,
  /** JSON bodies that are read or worked on, of one key and of all; one namespace has half of what others leave. Small ones that come whole do not count; others are parsed one at a time. */
  heldBytesPerKey: 96 * MiB,
  heldBytes: 256 * MiB,
  smallBodyBytes: 8 * KiB,
  headerBytes: 16 * KiB,
  /** Time for a request's headers. */
  headersTimeoutMs: 20_000,
  /** Maximum time of a TLS handshake, which costs the daemon more than a connection. */
  handshakeMs: 5_000,
  /** How long a body may stand still before its client is let go. */
  bodyIdleMs: 120_000,
  /** How long all of a JSON body may take: 24 MiB at 0.7 Mbit/s. */
  bodyMs: 300_000,
  keepAliveMs: 60_000,
  /** For each part to say that it is ready; and how long their answer holds, however many ask. */
  readyTimeoutMs: 8_000,
  readyHoldsMs: 1_000,
  connections: 12_000,
  /** A bucket of tokens for each key. */
  requestsPerSecond: { default: 1_000, min: 1, max: 100_000 },
  requestBurst: { default: 2_000, min: 1, max: 100_000 },
  buckets: 4096,
  /** Responses without an end that one key may have open, and all keys. */
  streamsPerKey: { default: 256, min: 1, max: 10_000 },
  streams: 2_048,
  /** Answers that clients have not read yet, of one key and of all; past that only small ones go out. */
  unreadBytesPerKey: 64 * MiB,
  unreadBytes: 512 * MiB,
  smallAnswerBytes: 64 * KiB,
  /**
   * How long a client may leave an answer where it is before its connection is cut: one that takes memory, and the end of a
   * stream whose source waits meanwhile, say for somebody who reads it page by page. And how often that is looked at.
   */
  stalledMs: { large: 300_000, small: 1_800_000 },
  largeAnswerBytes: 1 * MiB,
  stalledEveryMs: 30_000,
  /** Buffer of one stream; its source waits while it is full. */
  streamBufferBytes: 64 * KiB,
  /** Bytes and time of a refused body that is read on, since most clients read no answer before they have sent all. */
  discardBytes: 128 * MiB,
  discardMs: 15_000,
  /** How long a client may keep a connection after an answer that ends it. */
  lastAnswerMs: 2_000,
  /** A comment goes out this often on a stream that is silent. */
  heartbeatMs: 15_000,
  page: { default: 100, min: 1, max: 1_000 },
  idempotencyKeyChars: 255,
  nameChars: 128,
  valueChars: 131_072,
  signedUrlSeconds: { default: 900, min: 1, max: 86_400 },
  signedUrlsOpen: 10_000,
  waitSeconds: { default: 30, min: 0, max: 300 },
  terminalMessageBytes: 64 * KiB,
  searchMatches: 10_000,
} as const;

/** Ports of sandboxes, seen from outside. */
export const portLimits = {
  /** Port on which browsers reach them; 0 is the port after the API's. */
  listen: { default: 0, min: 0, max: 65_535 },
  /** Ports of one sandbox that are not private. */
  shared: 64,
  linkSeconds: { default: 3_600, min: 1, max: 7 * 86_400 },
  tokenChars: 512,
  /** Time that a program in a sandbox has to answer a request. */
  answerMs: 300_000,
  headBytes: 64 * KiB,
  /** Connections to the port for browsers, in total. */
  connections: 2_048,
  messageBytes: 16 * MiB,
} as const;

/** Requests about hosted servers. */
export const serverRequestLimits = {
  wordChars: 4_096,
  packageChars: 256,
  urlChars: 2_048,
  /** Settings in a query: all headers of a request have 16 KiB. */
  configChars: 12_000,
  versionNumber: 1_000_000,
} as const;

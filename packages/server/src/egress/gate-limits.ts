/** Limits of a sandbox's gate. */

const KiB = 1024;

/** Addresses and ports on which the gate listens inside a sandbox. */
export const gatePlaces = {
  /** Address of resolver and proxies, in the network from which names get their addresses. */
  address: "127.64.0.1",
  dnsPort: 53,
  proxyPort: 3128,
  socksPort: 1080,
  /** Listened on from the start, on every address. */
  webPorts: [80, 443],
  /** Above it a port belongs to programs; names get listeners of their own there. */
  privilegedPorts: 1024,
} as const;

export const gateLimits = {
  /** Names of one sandbox in its whole life; the next one gets SERVFAIL. */
  names: 4096,
  /** Listeners of names on ports of programs. */
  nameListeners: 128,
  nameBytes: 253,
  /** Connections of one sandbox at once, proxied and direct. */
  connections: 1_100,
  /** Connections that may wait for a human. */
  waiting: 64,
  /** Attempts of one sandbox that wait to be written down. Beyond: nothing is reached, and what is refused is not written. */
  attempts: 1_100,
  /** Refusals that the result of one run shows. */
  shownRefusals: 16,
  /** Connections of all sandboxes of this process together. */
  sockets: 16_384,
  /** A datagram to the resolver, and a message over TCP. */
  dnsMessageBytes: 4 * KiB,
  /** Questions under way at once, and connections with them. */
  questions: 256,
  dnsConnections: 64,
  dnsIdleMs: 10_000,
  /** Time to live in DNS answers: short, since policy is decided when an address is used. */
  dnsTtlSeconds: 5,
  /** How often one name that is refused is written down. */
  lookupLogMs: 10_000,
  lookupLogNames: 256,
  /** Maximum size of a ClientHello with all its records. RFC 8446 allows larger ones; no client sends them. */
  helloBytes: 32 * KiB,
  helloRecords: 64,
  /** How long a client may take to say what it wants: a hello, a request's head, a SOCKS greeting. */
  greetingMs: 15_000,
  headBytes: 64 * KiB,
  headers: 200,
  /** Requests on one connection to the proxy. */
  requests: 10_000,
  /** Requests that may arrive before the first is answered. */
  pipelined: 16,
  /** Time after which a connection without traffic is closed. */
  idleMs: 3_600_000,
  keepAliveMs: 60_000,
  /** Resolving one name, in all. */
  resolveMs: 10_000,
  addresses: 8,
  /** Names whose addresses are remembered, and how long at most. */
  remembered: 1_024,
  rememberedMs: 30_000,
  /** Connecting to one address, and to all of a name. */
  connectMs: 10_000,
  connectAllMs: 30_000,
  /** Until a host begins its answer to a request of the daemon's own. */
  answerMs: 30_000,
  /** Bytes under way in each direction of a connection. */
  bufferBytes: 64 * KiB,
  /** A limited sandbox may send or get so much at once before it is slowed down. */
  burstMs: 100,
} as const;

/** Looking into TLS. */
export const inspectionLimits = {
  authorityDays: 3_650,
  /** Validity of a host's certificate: browsers accept at most 398 days. */
  hostDays: 30,
  /** Hosts of one sandbox whose certificates are kept. */
  hosts: 256,
  /** HTTP/2 streams of one connection at once. */
  streams: 128,
  /** Unread bytes of bodies on one HTTP/2 connection, in each direction; one stream may have all of them. */
  windowBytes: 256 * KiB,
  /** Memory of one HTTP/2 connection for buffers and tables. */
  sessionMegabytes: 10,
} as const;

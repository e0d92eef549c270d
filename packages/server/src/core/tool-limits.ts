/** Limits of the tools that agents call, and of the door they come through. */
export const toolLimits = {
  /** Names of an input, and names and items in it where a schema looks at every one: not in fields that hold data. */
  names: 1_000,
  values: 20_000,
  /** What is told of an input that does not fit. */
  issues: 16,
  issueCharacters: 300,
  /** Of a run's output that is told while it runs; the result has the rest. */
  toldBytes: 256 * 1024,
  /** What is told goes out this often at most. */
  progressEveryMs: 50,
  /** Of one call, to a client that asked for a log. */
  logMessages: 100,
  /** Calls whose client was sent away with a question, of all and of one key, and how long they wait for it. */
  parked: 256,
  parkedPerKey: 32,
  parkedMs: 600_000,
  /** Of each of stdout and stderr in a result: more than a model can read. */
  outputBytes: { default: 64 * 1024, max: 1024 * 1024 },
  /** Images that come with a result, and the size of each. */
  images: 4,
  imageBytes: 2 * 1024 * 1024,
  /** Files that a result links to. */
  links: 20,
  /** Sandboxes and snapshots that the status shows. */
  statusRows: 100,
  /** Events of a namespace that its log shows, and namespaces that have one. */
  traces: 100,
  tracedNamespaces: 256,
  /** Files that are listed as resources, and the size of one that is read as such. */
  listedFiles: 500,
  resourceBytes: 4 * 1024 * 1024,
  /** Values that a completion offers; the protocol has no more. */
  completions: 100,
  /** MCP sessions of one key, and how long one lives without a request. */
  sessionsPerKey: 256,
  sessions: 2_048,
  sessionIdleMs: 24 * 3_600_000,
  /** A comment goes out this often on a stream that is silent. */
  keepAliveMs: 15_000,
  /** Streams of modern clients that listen for changes. */
  subscriptions: 1_024,
} as const;

/** Limits of the tools that agents call. */
export const toolLimits = {
  /** Names of an input, and names and items in it where a schema looks at every one: not in fields that hold data. */
  names: 1_000,
  values: 20_000,
  /** Problems that are reported for an invalid input, and the length of each. */
  issues: 16,
  issueCharacters: 300,
  /** Output that is sent while a run is under way; the result has the rest. */
  toldBytes: 256 * 1024,
  /** Shortest time between two progress messages. */
  progressEveryMs: 50,
  /** Log messages of one call, to a client that asked for a log. */
  logMessages: 100,
  /** Size of each of stdout and stderr in a result: more than a model can read. */
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
} as const;

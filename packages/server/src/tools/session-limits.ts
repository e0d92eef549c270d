/** Limits of the tools with which agents work in their sessions. */
export const sessionLimits = {
  /** Size of a file that a call reads, and of one that a call writes. */
  readBytes: { default: 64 * 1024, max: 1024 * 1024 },
  writeChars: 4 * 1024 * 1024,
  /** Names that a list holds. */
  entries: { default: 200, max: 2_000 },
  /** Process output in one answer, and how long a call waits for more of it. */
  processBytes: { default: 16 * 1024, max: 256 * 1024 },
  waitSeconds: { default: 0, max: 60 },
  /** JSON that goes from one interpreter to another, as text. */
  bridgeBytes: 1024 * 1024,
  bridgeMs: 10_000,
  /** Variables that are told of, and how long telling may take. */
  variables: 200,
  inspectMs: 5_000,
  /** Sessions, snapshots, checkpoints, templates and rows of the log that an answer lists. */
  sessions: 100,
  snapshots: 100,
  checkpoints: 100,
  templates: 100,
  /** Skills that an answer lists, and files of one. */
  skills: 200,
  skillFiles: 200,
  auditRows: { default: 50, max: 500 },
  /** Maximum size of an artifact whose content is part of the answer. */
  artifactBytes: 4 * 1024 * 1024,
  /** Namespaces whose calls are counted. */
  countedNamespaces: 1_024,
} as const;

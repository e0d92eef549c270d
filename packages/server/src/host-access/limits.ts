/** Limits on access to the host. */

const KiB = 1024;
const MiB = 1024 * KiB;

export const hostLimits = {
  /** Maximum size of a command, as text or as a list. */
  words: 256,
  commandBytes: 32 * KiB,
  /** Maximum length of a pattern: approvers see it whole, as the subject of a question. */
  patternChars: 512,
  patterns: 256,
  /** Characters of a program's name that the audit log keeps. */
  loggedChars: 256,
  folders: 64,
  pathBytes: 4_000,
  /** Links that one path may lead through, like the kernel's. */
  links: 40,
  timeoutMs: { default: 60_000, min: 100, max: 600_000 },
  /** Maximum size of each of stdout and stderr. */
  outputBytes: 256 * KiB,
  /** How long output may go on after a command has ended: a process that left its group may hold it open. */
  drainMs: 1_000,
  /** Commands at the same time; more are refused. */
  commands: 8,
  /** A file that is read whole: more than a model can take in. */
  readBytes: 1 * MiB,
  /** A file that is written whole. */
  fileBytes: 8 * MiB,
  /** A file that is copied into a sandbox, in pieces. */
  copyBytes: 256 * MiB,
  pieceBytes: 1 * MiB,
  entries: 1_000,
  /** Lasting answers about commands of one namespace. */
  answers: 1_000,
  /** A message between the daemon and the host's process: a file in Base64, and what stands around it. */
  messageBytes: 12 * MiB,
  /** Requests under way between the two. */
  requests: 16,
} as const;

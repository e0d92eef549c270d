import type { Range } from "../core/limits.ts";

/** Limits on policies. */
export const egressLimits = {
  /** RFC 1035, without the last dot. */
  nameCharacters: 253,
  labelCharacters: 63,
  /** A rule in text form. */
  ruleCharacters: 320,
  /** Allow rules of a sandbox's own policy, and of one run. */
  sandboxRules: { default: 10, min: 0, max: 1_000 },
  runRules: 10,
  /** Allow rules of a namespace; deny rules of any policy; rules that approvals have added to a sandbox. */
  namespaceRules: 1_000,
  denyRules: 1_000,
  approvedRules: 1_000,
  /** Rules of each kind that one entry of the audit log names, so that it holds them at their longest. */
  notedRules: 7,
  ranges: 16,
  /** The widest network that a rule may name. */
  rangePrefix: { ipv4: 8, ipv6: 7 },
  /** Networks that are kept parsed. */
  knownNetworks: 4_096,
  methods: 16,
  methodCharacters: 32,
  paths: 64,
  pathCharacters: 1_024,
  uploadAskBytes: { default: 1, min: 1, max: 2 ** 40 },
  bytesPerSecond: { default: 1_024, min: 1_024, max: 2 ** 40 },
  reasonCharacters: 400,
  /** Attempts that a namespace's log keeps, how many past that before the oldest go, and a page of it. */
  loggedAttempts: 10_000,
  logSlack: 500,
  /** Attempts that one sandbox may log: sustained rate, and burst. More wait. */
  attemptsPerSecond: 100,
  attemptBurst: 2_000,
  logPage: { default: 100, min: 1, max: 1_000 },
} as const satisfies Record<string, number | Range | Record<string, number>>;

/** What reference/escapes.md lists and this suite does not try, with the reason. */
export const notes: readonly { section: string; what: string; why: string }[] = [
  { section: "Host files", what: "tar and zip with links out, zip bomb", why: "no call takes an archive yet" },
  {
    section: "Host files",
    what: "the master key and the store",
    why: "neither exists yet; the data folder they will lie in is tried",
  },
  {
    section: "Other sandboxes and the daemon",
    what: "their secrets, their DNS names",
    why: "a sandbox has neither yet",
  },
  {
    section: "Other sandboxes and the daemon",
    what: "garbage, huge, truncated, out-of-order and replayed frames; a million streams; another stream's id",
    why: "user code cannot reach the wire (tried here); a hostile guest is tried against the wire's host end",
  },
  {
    section: "Exhaustion",
    what: "deep JSON, catastrophic-regex input",
    why: "nothing parses JSON or matches patterns from a sandbox yet",
  },
  {
    section: "Network",
    what: "the whole section",
    why: "tried by network.test.ts, in a network namespace of its own; names that change their answer by test/egress",
  },
  { section: "Secrets", what: "the whole section", why: "a sandbox is given no secret yet" },
];

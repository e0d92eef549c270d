/** Why a question ended without an answer. */
export const ended = {
  late: "nobody answered in time",
  restarted: "the daemon was started anew before anybody answered",
  stopped: "the daemon was shut down before anybody answered",
  destroyed: "its sandbox was destroyed",
} as const;

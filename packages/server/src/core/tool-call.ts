/** `ok`: it returned. `refused`: it was not valid. `denied`: by a role, policy or human. `error`: it failed. */
export const callVerdicts = ["ok", "error", "refused", "denied"] as const;
export type CallVerdict = (typeof callVerdicts)[number];

/** Doors through which files are read: one entry for each request. */
export const readKinds = ["content", "archive", "search", "artifact", "snapshot"] as const;

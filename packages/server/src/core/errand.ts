/** A request that the daemon makes on behalf of a sandbox, by that sandbox's policy and on its account. */
import type { Readable } from "node:stream";

export interface Errand {
  /** http or https. Redirects are not followed: each hop is an errand of its own. */
  url: URL;
  headers: Readonly<Record<string, string>>;
  /** The answer that sent it here: what a human has approved for that holds for the same place. */
  after?: ErrandResponse;
  signal: AbortSignal;
}

export interface ErrandResponse {
  status: number;
  /** Names in lower case; of several only what Node's parser keeps. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As it comes: still compressed. The connection ends with it; whoever does not read to its end destroys it. */
  body: Readable;
}

/** Rejects with an AppError: what policy refused says which rule, how to ask, and what to wait for. */
export type RunErrand = (errand: Errand) => Promise<ErrandResponse>;

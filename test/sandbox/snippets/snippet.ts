import type { ContextResult } from "../../../packages/server/src/core/context.ts";

/** A piece of code and what comes of it. Snippets of a table run one after another in the same context. */
export interface Snippet {
  title: string;
  code: string;
  stdin?: string;
  stdout?: string;
  stderr?: string;
  /** The whole list, in order; fields that are not named do not matter. */
  results?: Partial<ContextResult>[];
  /** What the first result must not have. */
  without?: (keyof ContextResult)[];
  error?: { name: string; message?: string | RegExp };
  /** Parts of the traceback, and what must not be in it. */
  shows?: string[];
  hides?: string[];
}

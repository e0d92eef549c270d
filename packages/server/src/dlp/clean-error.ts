import { AppError, messageOf } from "../core/errors.ts";
import type { Redactor } from "../core/redaction.ts";

/** The same error, without the values that must not leave: user code names files and programs. */
export function cleanError(redactor: Redactor, error: unknown): unknown {
  const isKnown = error instanceof AppError;
  const told = { message: messageOf(error), ...(isKnown ? { hint: error.hint, details: error.details } : {}) };
  const clean = redactor.value(told);
  if (clean === told) return error;
  return new AppError(isKnown ? error.code : "internal", clean.message, {
    ...(clean.hint === undefined ? {} : { hint: clean.hint }),
    ...(clean.details === undefined ? {} : { details: clean.details }),
    ...(isKnown && error.retryAfterMs !== undefined ? { retryAfterMs: error.retryAfterMs } : {}),
  });
}

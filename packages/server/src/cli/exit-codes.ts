import type { AppError, ErrorCode } from "../core/errors.ts";

/** CLI-05. A script's own code passes through; these are Caisson's. */
export const exitCodes = { usage: 2, timeout: 124, failed: 125, interrupted: 130, killed: 137, pipe: 141 } as const;

const byCode: Record<ErrorCode, number> = {
  invalid: exitCodes.usage,
  not_found: exitCodes.usage,
  too_large: exitCodes.usage,
  timeout: exitCodes.timeout,
  unauthenticated: exitCodes.failed,
  forbidden: exitCodes.failed,
  conflict: exitCodes.failed,
  limit_exceeded: exitCodes.failed,
  unavailable: exitCodes.failed,
  unsupported: exitCodes.failed,
  internal: exitCodes.failed,
};

export function exitCodeOf(error: AppError): number {
  return error.details?.oom_killed ? exitCodes.killed : byCode[error.code];
}

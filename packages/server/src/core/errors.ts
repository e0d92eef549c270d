/** The closed list of what can go wrong, as seen by any caller. Every surface maps each code once. */
export const errorCodes = [
  "invalid",
  "unauthenticated",
  "forbidden",
  "not_found",
  "conflict",
  "too_large",
  "limit_exceeded",
  "timeout",
  "unavailable",
  "unsupported",
  "internal",
] as const;
export type ErrorCode = (typeof errorCodes)[number];

export interface ErrorDetail {
  hint?: string;
  details?: Record<string, unknown>;
  retryAfterMs?: number;
  cause?: unknown;
}

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly hint?: string;
  readonly details?: Record<string, unknown>;
  readonly retryAfterMs?: number;

  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.name = "AppError";
    this.code = code;
    if (detail.hint !== undefined) this.hint = detail.hint;
    if (detail.details !== undefined) this.details = detail.details;
    if (detail.retryAfterMs !== undefined) this.retryAfterMs = detail.retryAfterMs;
  }
}

/** Returns the message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of a system error (`ENOENT`, …), or undefined for anything else. */
export function errnoOf(error: unknown): string | undefined {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return undefined;
}

/** True when there is no space: in a workspace, on the machine's disk, or beyond the reserve (hazard 8). */
export function isDiskFull({ code, details }: AppError): boolean {
  const { errno, reserveBytes } = details ?? {};
  return code === "limit_exceeded" && (errno === "ENOSPC" || errno === "EDQUOT" || reserveBytes !== undefined);
}

/** Turns the error of a full disk into one for the caller; returns any other error as it is. */
export function explainFullDisk(error: unknown, folder: string): unknown {
  const errno = error instanceof AppError ? error.details?.errno : errnoOf(error);
  if (errno !== "ENOSPC" && errno !== "EDQUOT") return error;
  return new AppError("limit_exceeded", `the disk with ${folder} is full`, {
    hint: "free space on that disk, or set CAISSON_HOME to a folder on another disk",
    details: { errno },
    cause: error,
  });
}

/** The closed list of what a daemon can refuse, and why. */
export type ErrorCode =
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "too_large"
  | "limit_exceeded"
  | "timeout"
  | "unavailable"
  | "unsupported"
  | "internal";

/** A problem document (RFC 9457), as the daemon sends it. */
export interface Problem {
  status: number;
  code: ErrorCode;
  detail: string;
  hint?: string;
  request_id?: string;
  retry_after?: number;
  details?: Record<string, unknown>;
}

/** Base class of all errors of this client. */
export class CaissonError extends Error {
  override readonly name: string = "CaissonError";
}

/** The daemon refused, or failed, and says so. */
export class ApiError extends CaissonError {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: ErrorCode;
  readonly hint?: string;
  readonly requestId?: string;
  /** In this time the same call may succeed. */
  readonly retryAfterMs?: number;
  /** Details; for a refusal by policy `rule`, `approval_id`, `wait` and others. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(problem: Problem) {
    super(problem.detail);
    this.status = problem.status;
    this.code = problem.code;
    this.details = problem.details ?? {};
    if (problem.hint !== undefined) this.hint = problem.hint;
    if (problem.request_id !== undefined) this.requestId = problem.request_id;
    if (problem.retry_after !== undefined) this.retryAfterMs = problem.retry_after * 1000;
  }
}

/** No answer came: whether the call had an effect is not known. */
export class ConnectionError extends CaissonError {
  override readonly name: string = "ConnectionError";
}

/** No answer came within the time of the call. */
export class TimeoutError extends ConnectionError {
  override readonly name = "TimeoutError";
}

/** Reads a refusal, whoever wrote it: something between here and the daemon may answer in its own way. */
export async function readProblem(response: Response): Promise<ApiError> {
  const { status } = response;
  const text = await response.text().catch(() => "");
  try {
    const problem: Partial<Problem> = JSON.parse(text);
    if (typeof problem.code === "string" && typeof problem.detail === "string")
      return new ApiError({ ...(problem as Problem), status });
  } catch {
    // not a problem document: told below
  }
  const detail = `answered ${status}: ${text.slice(0, 200)}`;
  const seconds = response.headers.get("retry-after") ?? "";
  const retry = /^\d+$/.test(seconds) ? { retry_after: Number(seconds) } : {}; // it may also be a date
  return new ApiError({ status, code: codeOf(status), detail, ...retry });
}

function codeOf(status: number): ErrorCode {
  if (status === 401) return "unauthenticated";
  if (status === 403) return "forbidden";
  if (status === 404) return "not_found";
  if (status === 413) return "too_large";
  if (status === 429 || status === 507) return "limit_exceeded";
  if (status === 502 || status === 503) return "unavailable";
  if (status === 504) return "timeout";
  return status < 500 ? "invalid" : "internal";
}

import { isDeepStrictEqual } from "node:util";
import { AppError, type ErrorCode, type ErrorDetail, isDiskFull, messageOf } from "../core/errors.ts";
import { hidePaths } from "../lib/hide-paths.ts";

/** What each code is over HTTP; exhaustive by its type. */
const statusOf: Readonly<Record<ErrorCode, number>> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  limit_exceeded: 429,
  timeout: 504,
  unavailable: 503,
  unsupported: 422,
  internal: 500,
};

const titles: Readonly<Record<ErrorCode, string>> = {
  invalid: "The request is not valid",
  unauthenticated: "Who calls is not known",
  forbidden: "Not allowed",
  not_found: "Not found",
  conflict: "In conflict with how things are",
  too_large: "Too large",
  limit_exceeded: "A limit is reached",
  timeout: "It took too long",
  unavailable: "Not available now",
  unsupported: "Not supported",
  internal: "Something went wrong here",
};

/** An error that HTTP has a status of its own for. */
export class HttpError extends AppError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: ErrorCode,
    message: string,
    detail: ErrorDetail & { headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(code, message, detail);
    this.status = status;
    this.headers = detail.headers ?? {};
  }
}

/** What was to be JSON is not. */
export class NotJson extends AppError {
  constructor() {
    super("invalid", "the body is not JSON");
  }
}

/** A body of another media type than a route takes. */
export class NotTaken extends HttpError {
  constructor() {
    super(415, "unsupported", "this media type is not taken here", { hint: "send application/json" });
  }
}

/** RFC 9457. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  hint?: string;
  request_id: string;
  /** Seconds. */
  retry_after?: number;
  details?: Record<string, unknown>;
}

export const problemType = "application/problem+json";

/** The request in which an error came up. */
export interface Context {
  /** Its method, route, sandbox and id. */
  readonly name: string;
  /** Its client has closed the connection. */
  readonly gone: boolean;
}

/** Refusals of Fastify before a route is reached, in our words. */
const frameworkErrors: Readonly<Record<string, () => AppError>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new NotTaken(),
  FST_ERR_BAD_URL: () => new AppError("invalid", "the path is not valid"),
  FST_ERR_MAX_PARAM_LENGTH: () => new AppError("invalid", "the path is too long"),
};

/** Other refusals of Fastify, by the status that it gives them. */
const codeOf: Readonly<Record<number, ErrorCode>> = {
  404: "not_found",
  405: "unsupported",
  413: "too_large",
  415: "unsupported",
};

/** Errors of streams and waits that a client ends by closing its connection. */
const endedByClient: ReadonlySet<string> = new Set([
  "ABORT_ERR",
  "ECONNRESET",
  "EPIPE",
  "ERR_STREAM_DESTROYED",
  "ERR_STREAM_PREMATURE_CLOSE",
]);

/** Any error as one whose code and message may be shown. What nobody foresaw tells nothing of itself. */
function toAppError(error: unknown, gone: boolean): AppError {
  if (error instanceof AppError) return error;
  const { code = "", name, statusCode } = (error ?? {}) as { code?: unknown; name?: unknown; statusCode?: unknown };
  const known = frameworkErrors[String(code)];
  if (known !== undefined) return known();
  if (gone && (endedByClient.has(String(code)) || name === "AbortError"))
    return new AppError("timeout", "the client closed the connection", { cause: error });
  if (String(code).startsWith("HPE_")) return new AppError("invalid", "the body is not HTTP", { cause: error });
  if (String(code).startsWith("FST_") && typeof statusCode === "number" && statusCode >= 400 && statusCode < 500)
    return new HttpError(statusCode, codeOf[statusCode] ?? "invalid", messageOf(error), { cause: error });
  return new AppError("internal", "internal error; the daemon's log has the details", { cause: error });
}

/** The same error for a log, with the request that it belongs to. */
function withName(error: unknown, name: string | undefined): unknown {
  if (name === undefined) return error;
  const message = `${name}: ${messageOf(error)}`;
  if (error instanceof AppError) return new AppError(error.code, message, { cause: error });
  const named = new Error(message, { cause: error });
  if (error instanceof Error && error.stack !== undefined) named.stack = `${name}: ${error.stack}`;
  return named;
}

/** What is wrong with this machine, and no doing of its caller's, may name places of the machine. */
const ofTheHost: ReadonlySet<ErrorCode> = new Set([
  "internal",
  "limit_exceeded",
  "timeout",
  "unavailable",
  "unsupported",
]);

function withoutPaths(error: AppError): AppError {
  if (!ofTheHost.has(error.code)) return error;
  const { code, hint, details, retryAfterMs } = error;
  const message = hidePaths(error.message);
  const texts = Object.entries(details ?? {}).map(([name, value]) => [
    name,
    typeof value === "string" ? hidePaths(value) : value,
  ]);
  const shown = {
    ...(hint === undefined ? {} : { hint: hidePaths(hint) }),
    ...(details === undefined ? {} : { details: Object.fromEntries(texts) as Record<string, unknown> }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  if (message === error.message && shown.hint === hint && isDeepStrictEqual(shown.details, details)) return error;
  if (error instanceof HttpError)
    return new HttpError(error.status, code, message, { ...shown, headers: error.headers });
  return new AppError(code, message, { ...shown, cause: error });
}

/** The same; what nobody foresaw, and what callers are not told, is told to whoever runs the place. */
export function report(error: unknown, onError: ((error: unknown) => void) | undefined, context?: Context): AppError {
  const known = toAppError(error, context?.gone ?? false);
  const shown = withoutPaths(known);
  if (known.code === "internal" || shown !== known)
    onError?.(withName(known.code === "internal" ? (known.cause ?? known) : known, context?.name));
  return shown;
}

export function toProblem(error: AppError, requestId: string): Problem {
  return {
    type: `urn:caisson:error:${error.code}`,
    title: titles[error.code],
    status: error instanceof HttpError ? error.status : isDiskFull(error) ? 507 : statusOf[error.code],
    detail: error.message,
    code: error.code,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    request_id: requestId,
    ...(error.retryAfterMs === undefined ? {} : { retry_after: Math.max(1, Math.ceil(error.retryAfterMs / 1000)) }),
    ...(error.details === undefined ? {} : { details: error.details }),
  };
}

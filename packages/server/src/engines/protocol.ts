/** Messages on the engine's socket: JSON, one a line. The verbs are in verbs.ts. */
import type { DiskNews } from "../core/engine.ts";
import { AppError, type ErrorCode } from "../core/errors.ts";

export const protocolVersion = 1;

/** To the engine: a request, or the answer to news of the disk. */
export type ToEngine = { n: number; verb: string; args: unknown } | { answer: number };

export interface RemoteError {
  code: ErrorCode;
  message: string;
  hint?: string;
  details?: Record<string, unknown>;
  retryAfterMs?: number;
}

export type FromEngine =
  | { hello: number }
  | { refused: RemoteError }
  | { n: number; ok: unknown }
  | { n: number; error: RemoteError }
  | { exit: string; reason: string }
  | { exit: string; error: RemoteError }
  | { disk: number; id: string; news: DiskNews };

/** What is no AppError is a mistake of the engine's: its words stay with the engine. */
export function describeError(error: unknown): RemoteError {
  if (!(error instanceof AppError)) return { code: "internal", message: "the engine failed; its log says how" };
  const { code, message, hint, details, retryAfterMs } = error;
  return {
    code,
    message,
    ...(hint === undefined ? {} : { hint }),
    ...(details === undefined ? {} : { details }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

export function errorOf({ code, message, ...detail }: RemoteError): AppError {
  return new AppError(code, message, detail);
}

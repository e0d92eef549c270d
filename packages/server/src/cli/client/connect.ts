import { ApiError, type Caisson, CaissonError, ConnectionError } from "@caisson/sdk";
import { findLocal, LocalError, type LocalOptions, openLocal } from "@caisson/sdk/local";
import type { Configuration } from "../../config/config.ts";
import type { Variables } from "../../config/env.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
import { trustSystemCertificates } from "./system-certificates.ts";

type As = Pick<LocalOptions, "namespace" | "priority">;

/** Connects to the daemon of CAISSON_URL, or to the one of the data folder. */
export async function connect({ home }: Configuration, variables: Variables, as: As = {}): Promise<Caisson> {
  await trustSystemCertificates(variables);
  return await openLocal({ home, variables, ...as }).catch(rethrow);
}

/** Like connect, but undefined if CAISSON_URL is not set and no daemon is running. */
export async function findDaemon(
  { home }: Configuration,
  variables: Variables,
  as: As = {},
): Promise<Caisson | undefined> {
  await trustSystemCertificates(variables);
  return await findLocal({ home, variables, ...as }).catch(rethrow);
}

function rethrow(error: unknown): never {
  throw toAppError(error);
}

/** Turns an error of the SDK into one that every command prints alike. */
export function toAppError(error: unknown): unknown {
  if (error instanceof ApiError || error instanceof LocalError)
    return new AppError(error.code, error.message, {
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      cause: error,
    });
  if (error instanceof ConnectionError)
    return new AppError("unavailable", error.message, { hint: hintOf(error), cause: error });
  return error instanceof CaissonError ? new AppError("internal", error.message, { cause: error }) : error;
}

function hintOf(error: ConnectionError): string {
  const code = codeOf(error) ?? "";
  return /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT_)/.test(code)
    ? `its certificate is not trusted (${code}); NODE_EXTRA_CA_CERTS=FILE adds an authority`
    : "check that the daemon is running: caisson status";
}

/** The code of the innermost cause: fetch wraps the error of the connection. */
function codeOf(error: unknown): string | undefined {
  return error instanceof Error ? (codeOf(error.cause) ?? errnoOf(error)) : undefined;
}

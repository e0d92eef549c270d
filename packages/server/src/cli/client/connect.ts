import { ApiError, type Caisson, CaissonError, ConnectionError } from "@caisson/sdk";
import { findLocal, LocalError, type LocalOptions, openLocal } from "@caisson/sdk/local";
import type { Configuration } from "../../config/config.ts";
import type { Variables } from "../../config/env.ts";
import { AppError } from "../../core/errors.ts";

type As = Pick<LocalOptions, "namespace" | "priority">;

/** Connects to the daemon of CAISSON_URL, or to the one of the data folder. */
export function connect({ home }: Configuration, variables: Variables, as: As = {}): Promise<Caisson> {
  return openLocal({ home, variables, ...as }).catch(rethrow);
}

/** Like connect, but undefined if CAISSON_URL is not set and no daemon is running. */
export function findDaemon({ home }: Configuration, variables: Variables, as: As = {}): Promise<Caisson | undefined> {
  return findLocal({ home, variables, ...as }).catch(rethrow);
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
    return new AppError("unavailable", error.message, {
      hint: "check that the daemon is running: caisson status",
      cause: error,
    });
  return error instanceof CaissonError ? new AppError("internal", error.message, { cause: error }) : error;
}

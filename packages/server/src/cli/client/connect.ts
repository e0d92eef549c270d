import { ApiError, type Caisson, CaissonError, ConnectionError } from "@caisson/sdk";
import { findLocal, LocalError, type LocalOptions, openLocal } from "@caisson/sdk/local";
import type { Configuration } from "../../config/config.ts";
import type { Variables } from "../../config/env.ts";
import { AppError } from "../../core/errors.ts";

type As = Pick<LocalOptions, "namespace" | "priority">;

/** The daemon that CAISSON_URL names, or that of the data folder. */
export function connect({ home }: Configuration, variables: Variables, as: As = {}): Promise<Caisson> {
  return openLocal({ home, variables, ...as }).catch(rethrow);
}

/** The same; undefined where none is named and none runs. */
export function findDaemon({ home }: Configuration, variables: Variables, as: As = {}): Promise<Caisson | undefined> {
  return findLocal({ home, variables, ...as }).catch(rethrow);
}

function rethrow(error: unknown): never {
  throw toAppError(error);
}

/** What the SDK says, as every command tells it. */
export function toAppError(error: unknown): unknown {
  if (error instanceof ApiError || error instanceof LocalError)
    return new AppError(error.code, error.message, {
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      cause: error,
    });
  if (error instanceof ConnectionError)
    return new AppError("unavailable", error.message, {
      hint: "caisson status says whether a daemon runs",
      cause: error,
    });
  return error instanceof CaissonError ? new AppError("internal", error.message, { cause: error }) : error;
}

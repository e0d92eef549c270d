import { readFile } from "node:fs/promises";
import { ApiError, Caisson, CaissonError, type ClientOptions, ConnectionError } from "@caisson/sdk";
import type { Configuration } from "../../config/config.ts";
import type { Variables } from "../../config/env.ts";
import { AppError, errnoOf } from "../../core/errors.ts";
import { askControl } from "../../host/control.ts";
import { layoutOf } from "../../host/layout.ts";
import type { UpStatus } from "../../up.ts";

type As = Pick<ClientOptions, "namespace" | "priority">;

/** The daemon that CAISSON_URL names, or that of the data folder. */
export async function connect(configuration: Configuration, variables: Variables, as: As = {}): Promise<Caisson> {
  const found = await findDaemon(configuration, variables, as);
  if (found !== undefined) return found;
  throw new AppError("unavailable", `no daemon of ${configuration.home} runs`, {
    hint: "caisson up --detach starts one; CAISSON_URL names one elsewhere",
  });
}

/** The same; undefined where none is named and none runs. */
export async function findDaemon(
  { home }: Configuration,
  variables: Variables,
  as: As = {},
): Promise<Caisson | undefined> {
  const url = variables.CAISSON_URL ?? (await localAddress(home));
  if (url === undefined) return undefined;
  const key = variables.CAISSON_API_KEY ?? (variables.CAISSON_URL === undefined ? await adminKey(home) : undefined);
  return new Caisson({ url, ...(key === undefined ? {} : { key }), ...as });
}

async function localAddress(home: string): Promise<string | undefined> {
  return (await askControl<UpStatus>(layoutOf(home).controlSocket, "status"))?.address;
}

async function adminKey(home: string): Promise<string> {
  const path = layoutOf(home).adminKey;
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    throw new AppError("unauthenticated", `the key in ${path} cannot be read (${errnoOf(error)})`, {
      hint: "CAISSON_API_KEY names another",
      cause: error,
    });
  }
}

/** What the SDK says, as every command tells it. */
export function toAppError(error: unknown): unknown {
  if (error instanceof ApiError)
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

import { AppError } from "../core/errors.ts";
import type { ServerRecord } from "../core/server.ts";

export function noVersion({ name }: Pick<ServerRecord, "name">): AppError {
  return new AppError("conflict", `the server ${name} has no version that passed its check`, {
    hint: `caisson servers versions ${name} shows why`,
  });
}

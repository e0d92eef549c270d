import { AppError } from "./errors.ts";
import { sandboxLimits } from "./limits.ts";

export type Environment = Readonly<Record<string, string>>;

/** Refuses names and values that no program can have. */
export function checkEnvironment<E extends Environment>(given: E): E {
  const names = Object.keys(given).length;
  if (names > sandboxLimits.variables)
    throw new AppError("invalid", `an environment has at most ${sandboxLimits.variables} variables, not ${names}`);
  const bad = Object.entries(given).find(([name, value]) => !/^[^=\0]+$/.test(name) || value.includes("\0"));
  if (bad) throw new AppError("invalid", `environment: '${bad[0]}' is not a valid name, or its value holds a NUL`);
  return given;
}

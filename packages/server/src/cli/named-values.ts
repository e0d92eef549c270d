import type { Variables } from "../config/env.ts";
import { AppError } from "../core/errors.ts";

/** Reads the values of a repeatable option NAME=VALUE. If `variables` are passed, NAME without a value takes theirs. */
export function namedValues(rows: readonly string[], option: string, variables?: Variables): Record<string, string> {
  const hint = `--${option} NAME=VALUE`;
  const values: Record<string, string> = {};
  for (const row of rows) {
    const at = row.indexOf("=");
    const name = at === -1 ? row : row.slice(0, at);
    const value = at === -1 ? variables?.[name] : row.slice(at + 1);
    if (name === "") throw new AppError("invalid", `--${option}: '${row}' has no name`, { hint });
    if (value === undefined) {
      const why = variables === undefined ? "has no value" : "is not set in your environment";
      throw new AppError("invalid", `--${option}: '${name}' ${why}`, { hint });
    }
    values[name] = value;
  }
  return values;
}

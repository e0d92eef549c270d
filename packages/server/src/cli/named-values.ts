import type { Variables } from "../config/env.ts";
import { AppError } from "../core/errors.ts";

/** Of an option that takes NAME=VALUE, as often as it was given. Where there are variables, NAME alone takes theirs. */
export function namedValues(rows: readonly string[], option: string, variables?: Variables): Record<string, string> {
  const hint = `write --${option} NAME=VALUE`;
  const values: Record<string, string> = {};
  for (const row of rows) {
    const at = row.indexOf("=");
    const name = at === -1 ? row : row.slice(0, at);
    const value = at === -1 ? variables?.[name] : row.slice(at + 1);
    if (name === "") throw new AppError("invalid", `--${option} '${row}' has no name`, { hint });
    if (value === undefined) {
      const why = variables === undefined ? "it has no value" : "it is not set here";
      throw new AppError("invalid", `--${option} ${name}: ${why}`, { hint });
    }
    values[name] = value;
  }
  return values;
}

import { AppError } from "./errors.ts";
import { terminalLimits } from "./limits.ts";
import { checkRange } from "./size.ts";
import type { TerminalSize } from "./wire.ts";

export function checkTerminal({ rows, columns }: TerminalSize): TerminalSize {
  if (!Number.isInteger(rows) || !Number.isInteger(columns))
    throw new AppError("invalid", "a terminal's rows and columns must be whole numbers");
  return {
    rows: checkRange(rows, terminalLimits.rows, "rows", String),
    columns: checkRange(columns, terminalLimits.columns, "columns", String),
  };
}

import { AppError } from "../core/errors.ts";
import type { Argv } from "../core/host-access.ts";
import { hostLimits } from "./limits.ts";

export function checkArgv(argv: Argv): void {
  const [program = ""] = argv;
  if (program === "") throw new AppError("invalid", "the command does not name a program");
  if (/^\w+=/.test(program))
    throw new AppError("invalid", "variables before a command are not supported on the host", {
      hint: "start with the program; its environment is fixed",
    });
  if (argv.some((word) => word.includes("\0"))) throw new AppError("invalid", "the command contains a NUL byte");
  const bytes = argv.reduce((sum, word) => sum + Buffer.byteLength(word) + 1, 0);
  if (argv.length > hostLimits.words || bytes > hostLimits.commandBytes)
    throw new AppError(
      "too_large",
      `the command is too long (limit: ${hostLimits.words} words, ${hostLimits.commandBytes} bytes)`,
    );
}

import { AppError } from "../core/errors.ts";
import type { Argv } from "../core/host-access.ts";
import { hostLimits } from "./limits.ts";

export function checkArgv(argv: Argv): void {
  const [program = ""] = argv;
  if (program === "") throw new AppError("invalid", "a command names a program");
  if (/^\w+=/.test(program))
    throw new AppError("invalid", "a command on the host takes no variables before it", {
      hint: "its environment is fixed; begin with the program",
    });
  if (argv.some((word) => word.includes("\0"))) throw new AppError("invalid", "a command holds no NUL");
  const bytes = argv.reduce((sum, word) => sum + Buffer.byteLength(word) + 1, 0);
  if (argv.length > hostLimits.words || bytes > hostLimits.commandBytes)
    throw new AppError(
      "too_large",
      `a command has ${hostLimits.words} words and ${hostLimits.commandBytes} bytes at most`,
    );
}

import { AppError } from "../../core/errors.ts";
import { visible } from "../terminal.ts";
import type { VerbCall } from "./verb.ts";

export const session = {
  type: "string",
  value: "ID",
  help: "sandbox or session whose network policy applies (default: your own session)",
} as const;

export function numberOf({ options }: VerbCall, name: string): number | undefined {
  const text = options.text(name);
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw new AppError("invalid", `--${name}: '${text}' is not a number`);
  return Number(text);
}

/** Prints untrusted lines without terminal control characters. */
export function tellText({ io }: VerbCall, text: string): number {
  io.stdout.write(`${text.split("\n").map(visible).join("\n")}\n`);
  return 0;
}

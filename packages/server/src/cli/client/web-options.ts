import { AppError } from "../../core/errors.ts";
import { visible } from "../terminal.ts";
import type { VerbCall } from "./verb.ts";

export const session = {
  type: "string",
  value: "ID",
  help: "a sandbox or a session by whose policy the web is reached; one of your own unless told",
} as const;

export function numberOf({ options }: VerbCall, name: string): number | undefined {
  const text = options.text(name);
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw new AppError("invalid", `--${name}: '${text}' is no number`);
  return Number(text);
}

/** Lines of a stranger's, without what a terminal would obey. */
export function tellText({ io }: VerbCall, text: string): number {
  io.stdout.write(`${text.split("\n").map(visible).join("\n")}\n`);
  return 0;
}

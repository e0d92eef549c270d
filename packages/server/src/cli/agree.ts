import { createInterface } from "node:readline/promises";
import type { RunIo } from "./run.ts";

/** Asks on the terminal. False without one, so that a command can name its flag. */
export async function agrees(question: string, { stdin, stderr }: RunIo): Promise<boolean> {
  if (!stdin.isTTY || !stderr.isTTY) return false;
  using terminal = createInterface({ input: stdin, output: stderr });
  const closed = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
  const answer = await Promise.race([terminal.question(`caisson: ${question} [y/N] `), closed]);
  return /^y(es)?$/i.test(answer.trim());
}

import { constants } from "node:os";
import { AppError } from "../core/errors.ts";
import { type Interrupt, onInterrupt } from "./interrupt.ts";
import type { RunIo } from "./run.ts";

/** What somebody who types does, until they are interrupted or their terminal is no more. */
export async function atTerminal(io: RunIo, act: (interrupt: Interrupt) => Promise<number>): Promise<number> {
  if (!io.stdin.isTTY || !io.stdout.isTTY)
    throw new AppError("invalid", "a shell needs a terminal as standard input and output", {
      hint: "caisson run and caisson exec run what needs none",
    });
  const interrupt = onInterrupt();
  const gone = () => interrupt.end(128 + constants.signals.SIGHUP);
  io.stdin.once("end", gone);
  for (const stream of [io.stdin, io.stdout]) stream.on("error", gone);
  try {
    const code = await act(interrupt);
    return interrupt.exitCode ?? code;
  } catch (error) {
    if (interrupt.exitCode !== undefined) return interrupt.exitCode;
    throw error;
  } finally {
    interrupt.dispose();
    io.stdin.off("end", gone);
    for (const stream of [io.stdin, io.stdout]) stream.off("error", gone);
  }
}

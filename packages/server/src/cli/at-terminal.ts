import { constants } from "node:os";
import { AppError } from "../core/errors.ts";
import { type Interrupt, onInterrupt } from "./interrupt.ts";
import type { RunIo } from "./run.ts";

/** Runs an interactive command until it ends, is interrupted or loses its terminal. */
export async function atTerminal(io: RunIo, act: (interrupt: Interrupt) => Promise<number>): Promise<number> {
  if (!io.stdin.isTTY || !io.stdout.isTTY)
    throw new AppError("invalid", "a shell requires a terminal on standard input and output", {
      hint: "without a terminal: caisson run FILE, or caisson exec SANDBOX COMMAND",
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

import { plainTerminalOutput } from "../app.ts";
import { terminalLimits } from "../core/limits.ts";
import type { TerminalSize } from "../core/wire.ts";

/** Resets terminal modes that a killed program may have left on: paste marks, mouse reports, a hidden cursor. */
const undo = "\x1b[?2004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?25h\x1b[0m";

/**
 * The user's terminal in raw mode: each key goes to the sandbox. Disposing restores it, and so does Node at any exit of
 * this process. After Ctrl-Z and fg it is raw again.
 */
export async function makeRaw(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Promise<AsyncDisposable> {
  const enter = async () => {
    input.setRawMode(false);
    input.setRawMode(true);
    await plainTerminalOutput(`/proc/${process.pid}/fd/0`);
  };
  let entered = enter();
  const again = () => {
    entered = enter();
  };
  process.on("SIGCONT", again);
  await entered;
  return {
    [Symbol.asyncDispose]: async () => {
      process.off("SIGCONT", again);
      await entered;
      output.write(undo);
      input.setRawMode(false);
    },
  };
}

/** The size of the user's terminal, within the limits of a sandbox's terminal. */
export function terminalSizeOf(output: NodeJS.WriteStream): TerminalSize {
  const within = (value: number, range: { default: number; min: number; max: number }) =>
    Math.min(range.max, Math.max(range.min, value || range.default));
  return { rows: within(output.rows, terminalLimits.rows), columns: within(output.columns, terminalLimits.columns) };
}

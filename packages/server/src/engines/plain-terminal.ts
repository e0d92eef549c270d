import { engineLimits } from "./limits.ts";
import { runProcess } from "./spawn.ts";

/**
 * Output to the terminal goes out byte by byte. Node's raw mode still turns line feeds into two characters, which spoils
 * programs that move the cursor with them. Without stty most output looks right all the same.
 */
export async function plainTerminalOutput(path: string): Promise<void> {
  const limits = { timeoutMs: engineLimits.probeTimeoutMs, outputBytes: 0 };
  await runProcess("stty", ["-F", path, "-opost"], limits).catch(() => undefined);
}

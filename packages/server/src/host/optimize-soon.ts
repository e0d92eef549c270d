import { readdirSync, readFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { setFlagsFromString } from "node:v8";
import { compileLimits } from "../core/compile-limits.ts";

/**
 * V8 optimizes what has run thousands of times. What a daemon does for one caller runs some hundreds of times a day, and would
 * be interpreted for good. Called when the process is ready: most of what has run by then never runs again.
 * What the compilers work with goes back to the system: `up.ts` starts the process so.
 */
export function optimizeSoon(): void {
  mayCompile(true);
  setFlagsFromString(`--minimum-invocations-after-ic-update=${compileLimits.unchangedRuns}`);
  setFlagsFromString("--no-maglev-destroy-on-background"); // where a job that is done waits for others, with all its memory
  letCompilersWait();
}

/** What is compiled stays, and what is being compiled comes. */
export function mayCompile(may: boolean): void {
  const { maglevRuns, turbofanRuns } = compileLimits;
  setFlagsFromString(`--invocation-count-for-maglev=${may ? maglevRuns : never}`);
  setFlagsFromString(`--invocation-count-for-turbofan=${may ? turbofanRuns : never}`);
}

/** V8 multiplies it by a function's size, within 31 bits. */
const never = 10_000;

/** The daemon's other threads have the processor before the compilers: in a burst those would take as much as all requests. */
function letCompilersWait(): void {
  for (const thread of readdirSync("/proc/self/task")) {
    try {
      if (readFileSync(`/proc/self/task/${thread}/comm`, "utf8") !== "V8Worker\n") continue;
      setPriority(Number(thread), constants.priority.PRIORITY_LOW);
    } catch {
      // It has ended meanwhile.
    }
  }
}

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
  compileAfter("soon");
  setFlagsFromString(`--minimum-invocations-after-ic-update=${compileLimits.unchangedRuns}`);
  setFlagsFromString("--no-maglev-destroy-on-background"); // where a job that is done waits for others, with all its memory
  letCompilersWait();
}

/** Of functions that begin to be counted from now on: those that are being counted go on as they were told. */
export function compileAfter(runs: keyof typeof compileLimits.runs): void {
  const { maglev, turbofan } = compileLimits.runs[runs];
  setFlagsFromString(`--invocation-count-for-maglev=${maglev}`);
  setFlagsFromString(`--invocation-count-for-turbofan=${turbofan}`);
}

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

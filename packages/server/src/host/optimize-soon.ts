import { readdirSync, readFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { setFlagsFromString } from "node:v8";

/**
 * V8 optimizes what has run thousands of times. What a daemon does for one caller runs some hundreds of times a day, and would
 * be interpreted for good. Called when the process is ready: most of what has run by then never runs again.
 * What the compilers work with goes back to the system: `up.ts` starts the process so.
 */
export function optimizeSoon(): void {
  setFlagsFromString("--invocation-count-for-maglev=8");
  setFlagsFromString("--invocation-count-for-turbofan=20");
  setFlagsFromString("--minimum-invocations-after-ic-update=5");
  setFlagsFromString("--no-maglev-destroy-on-background"); // where a job that is done waits for others, with all its memory
  letCompilersWait();
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

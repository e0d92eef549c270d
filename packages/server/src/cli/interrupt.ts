import { constants } from "node:os";
import { cliLimits } from "./limits.ts";

const watched = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface Interrupt {
  /** Aborted when the run must end at once. */
  readonly signal: AbortSignal;
  /** Set once a signal or `end` has come. */
  readonly exitCode: number | undefined;
  /** Ends the run for a reason of our own. */
  end(code: number): void;
  /** Sets the receiver of the first signal, so that the program can end in its own way. */
  pass(to: (number: number) => void): void;
  dispose(): void;
}

/** Ctrl-C reaches the program first; the second one, or two seconds, ends it. */
export function onInterrupt(): Interrupt {
  const controller = new AbortController();
  let exitCode: number | undefined;
  let forward: ((number: number) => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  const receive = (name: NodeJS.Signals) => {
    const number = constants.signals[name];
    const again = exitCode !== undefined;
    exitCode ??= 128 + number;
    if (again || forward === undefined) return controller.abort();
    forward(number);
    timer = setTimeout(() => controller.abort(), cliLimits.graceMs);
  };
  for (const name of watched) process.on(name, receive);
  return {
    signal: controller.signal,
    get exitCode() {
      return exitCode;
    },
    pass: (to) => {
      forward = to;
    },
    end: (code) => {
      exitCode ??= code;
      controller.abort();
    },
    dispose: () => {
      clearTimeout(timer);
      for (const name of watched) process.off(name, receive);
    },
  };
}

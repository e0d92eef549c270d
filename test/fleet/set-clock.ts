import type { Clock } from "../../packages/server/src/lib/clock.ts";

/** Real clocks that can be set. */
export class SetClock implements Clock {
  wallShiftMs = 0;
  shiftMs = 0;
  wallMs = () => Date.now() + this.wallShiftMs;
  monotonicMs = () => performance.now() + this.shiftMs;

  /** Time goes by. */
  pass(ms: number): void {
    this.wallShiftMs += ms;
    this.shiftMs += ms;
  }
}

/** Two clocks: people's, which may jump, and one that only ever goes on. */
export interface Clock {
  wallMs(): number;
  monotonicMs(): number;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

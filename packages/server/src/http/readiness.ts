import { AppError } from "../core/errors.ts";
import { systemClock } from "../lib/clock.ts";
import { httpLimits } from "./limits.ts";

/** Throws with what is wrong while the place cannot serve. An AppError's message is shown to strangers. */
export type Readiness = () => Promise<void>;

/** Ready when every part is; whoever asks is told the names of those that are not, and nothing more. */
export function allReady(
  parts: Readonly<Record<string, () => Promise<unknown>>>,
  onError: (error: unknown) => void,
): Readiness {
  return async () => {
    const names = Object.keys(parts);
    const outcomes = await Promise.allSettled(Object.values(parts).map((check) => inTime(check())));
    const failed = outcomes.flatMap((outcome, at) => {
      if (outcome.status === "fulfilled") return [];
      onError(outcome.reason);
      return [names[at]];
    });
    if (failed.length > 0) throw new AppError("unavailable", `not ready: ${failed.join(", ")}`);
  };
}

/** One question at a time, whose answer holds for a moment: strangers may ask as often as they like. */
export function seldom(ready: Readiness, clock = systemClock): Readiness {
  let asked: { atMs: number; answer: Promise<void> } | undefined;
  return () => {
    if (asked === undefined || clock.monotonicMs() - asked.atMs > httpLimits.readyHoldsMs) {
      const asking = { atMs: Number.POSITIVE_INFINITY, answer: ready() };
      const settled = () => {
        asking.atMs = clock.monotonicMs();
      };
      asking.answer.then(settled, settled);
      asked = asking;
    }
    return asked.answer;
  };
}

async function inTime(work: Promise<unknown>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new AppError("timeout", "no answer in time")), httpLimits.readyTimeoutMs);
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

export interface Summary {
  median: number;
  p95: number;
  p99: number;
  /** The fastest: what a disturbed machine still tells. */
  best: number;
  count: number;
}

/** The nearest sample at or above the share `q` of all. */
function quantile(sorted: readonly number[], q: number): number {
  const value = sorted[Math.max(0, Math.ceil(sorted.length * q) - 1)];
  if (value === undefined) throw new Error("nothing was measured");
  return value;
}

export function median(samples: readonly number[]): number {
  return quantile(
    samples.toSorted((a, b) => a - b),
    0.5,
  );
}

/** `p95` and `p99` are the slow end: of throughputs the 5th of a hundred from below, of everything else from above. */
export function summarize(samples: readonly number[], moreIsBetter = false): Summary {
  const sorted = samples.toSorted((a, b) => a - b);
  return {
    median: quantile(sorted, 0.5),
    p95: quantile(sorted, moreIsBetter ? 0.05 : 0.95),
    p99: quantile(sorted, moreIsBetter ? 0.01 : 0.99),
    best: quantile(sorted, moreIsBetter ? 1 : 0),
    count: samples.length,
  };
}

type Step = () => Promise<number | number[]>;

/** A, B, A, B, …: whatever disturbs the machine disturbs both. A step gives one sample, or a block of them. */
export async function interleave<const T extends readonly Step[]>(
  rounds: number,
  steps: T,
): Promise<{ [I in keyof T]: number[] }> {
  const samples = steps.map((): number[] => []);
  for (let round = 0; round < rounds; round++)
    for (const [index, step] of steps.entries()) samples[index]?.push(...[await step()].flat());
  return samples as { [I in keyof T]: number[] };
}

export async function timeMs(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}

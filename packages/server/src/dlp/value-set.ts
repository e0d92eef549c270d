import { EncodedRuns } from "./encoded-runs.ts";
import { redactionLimits } from "./limits.ts";
import { type Found, PatternSet } from "./pattern-set.ts";
import { encodedForms, secretForms } from "./secret-forms.ts";

function unique(patterns: readonly Buffer[]): Buffer[] {
  return [...new Map(patterns.map((pattern) => [pattern.toString("latin1"), pattern])).values()];
}

/** The first half of a value that is long enough for a half to mean something. */
function halfOf(value: Buffer): Buffer[] {
  const size = Math.ceil(value.length / 2);
  return size < redactionLimits.partLeastBytes ? [] : [value.subarray(0, size)];
}

/** Values in all their forms, compiled to be looked for. */
export class ValueSet {
  /** No form is longer. */
  readonly reachBytes: number;
  readonly #values: readonly Buffer[];
  readonly #plain: PatternSet;
  readonly #runs: EncodedRuns;
  readonly #halves: PatternSet | undefined;

  constructor(values: readonly Buffer[]) {
    const halves = unique(values.flatMap(halfOf));
    this.#values = values;
    this.#plain = new PatternSet(unique(values.flatMap(secretForms)));
    this.#runs = new EncodedRuns(unique(values.flatMap(encodedForms)));
    this.#halves = halves.length === 0 ? undefined : new PatternSet(halves);
    this.reachBytes = Math.max(this.#plain.reachBytes, this.#runs.reachBytes);
  }

  /** Reports what begins before `to`, in order. */
  find(bytes: Buffer, to: number, found: Found): void {
    const broken: [number, number][] = [];
    this.#runs.find(bytes, to, (start, end) => broken.push([start, end]));
    if (broken.length === 0) return this.#plain.find(bytes, to, found);
    let next = 0;
    const upTo = (place: number) => {
      for (let one = broken[next]; one !== undefined && one[0] <= place; one = broken[++next]) found(...one);
    };
    this.#plain.find(bytes, to, (start, end) => {
      upTo(start);
      found(start, end);
    });
    upTo(to);
  }

  /** How many values begin before `to` and are not there as a whole. */
  countHalves(bytes: Buffer, to: number): number {
    let count = 0;
    this.#halves?.find(bytes, to, (start) => {
      const isWhole = (value: Buffer) => bytes.subarray(start, start + value.length).equals(value);
      if (!this.#values.some(isWhole)) count++;
    });
    return count;
  }
}

import { redacted } from "../core/redaction.ts";
import { redactionLimits } from "./limits.ts";
import { PatternSet } from "./pattern-set.ts";
import { secretForms } from "./secret-forms.ts";

/** Names of hosts are compared without case, and a long value is cut into labels. */
function fold(text: string): string {
  return text.toLowerCase().replaceAll(".", "");
}

/** Values in names of hosts, as programs and resolvers write them. */
export class HostNames {
  readonly #patterns: PatternSet | undefined;

  constructor(values: readonly Buffer[]) {
    const forms = values.flatMap(secretForms).map((form) => fold(form.toString("latin1")));
    const long = [...new Set(forms)].filter(({ length }) => length >= redactionLimits.leastBytes);
    if (long.length > 0) this.#patterns = new PatternSet(long.map((form) => Buffer.from(form, "latin1")));
  }

  /** As it may be shown: what stands after the last label that a value is in. */
  mask(name: string): string {
    const bytes = Buffer.from(fold(name));
    let end = 0;
    this.#patterns?.find(bytes, bytes.length, (_, stop) => {
      end = Math.max(end, stop);
    });
    if (end === 0) return name;
    const folded = Buffer.from(name.toLowerCase());
    let place = 0;
    for (let left = end; left > 0; place++) if (folded[place] !== dot) left--;
    const rest = folded.indexOf(dot, place);
    return rest < 0 ? redacted : redacted + folded.subarray(rest).toString();
  }
}

const dot = 46;

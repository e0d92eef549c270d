import type { Redactor } from "../core/redaction.ts";
import { redactionLimits } from "./limits.ts";
import { ValueRedactor } from "./redactor.ts";

/** For more values than one redactor looks for at a time: what leaves passes through each. */
export function redactorsOf(values: readonly Buffer[]): Redactor[] {
  const found: Redactor[] = [];
  for (let at = 0; at < values.length; at += redactionLimits.values) {
    const redactor = new ValueRedactor();
    redactor.hide(values.slice(at, at + redactionLimits.values));
    found.push(redactor);
  }
  return found;
}

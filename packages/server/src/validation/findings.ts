import type { Finding, Severity } from "../core/validation.ts";
import { validationLimits } from "./limits.ts";
import type { TextRange } from "./position.ts";

export interface Checked {
  found: Findings;
  fixedCode?: string;
}

/** Gathers what is found, each place and rule once, as many as a result tells. */
export class Findings {
  readonly #found = new Map<string, Finding>();
  truncated = false;

  add(severity: Severity, rule: string, message: string, place: TextRange, fix?: string): void {
    const key = `${rule} ${place.line} ${place.column}`;
    if (this.#found.has(key)) return;
    // What stops code must be told, however much else there is.
    if (this.#found.size >= validationLimits.findings && !(severity !== "warning" && this.#makeRoom())) {
      this.truncated = true;
      return;
    }
    this.#found.set(key, { rule, severity, message: cut(message), ...place, ...(fix === undefined ? {} : { fix }) });
  }

  /** In the order of the code. */
  list(): Finding[] {
    return [...this.#found.values()].sort((a, b) => a.line - b.line || a.column - b.column);
  }

  /** Takes a warning out. */
  #makeRoom(): boolean {
    for (const [key, { severity }] of this.#found) {
      if (severity !== "warning") continue;
      this.truncated = true;
      return this.#found.delete(key);
    }
    return false;
  }
}

function cut(message: string): string {
  const { messageCharacters } = validationLimits;
  return message.length <= messageCharacters ? message : `${message.slice(0, messageCharacters)}…`;
}

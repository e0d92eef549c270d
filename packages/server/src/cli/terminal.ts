import type { AppError } from "../core/errors.ts";
import { hidden, visible } from "../lib/visible.ts";

export { visible };

export interface Terminal {
  color: boolean;
}

const styles = { red: 31, green: 32, yellow: 33, dim: 2 } as const;

export function paint(terminal: Terminal, style: keyof typeof styles, text: string): string {
  return terminal.color ? `\x1b[${styles[style]}m${text}\x1b[0m` : text;
}

/** JSON with hidden characters escaped; it parses to the same value. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(hidden, (character) => {
    if (character === "\n") return character;
    const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}

export function formatError(terminal: Terminal, error: AppError): string {
  const first = `${paint(terminal, "red", "caisson:")} ${visible(error.message)}`;
  return error.hint === undefined
    ? `${first}\n`
    : `${first}\n  ${paint(terminal, "dim", "hint:")} ${visible(error.hint)}\n`;
}

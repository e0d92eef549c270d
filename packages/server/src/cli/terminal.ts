import type { AppError } from "../core/errors.ts";

export interface Terminal {
  color: boolean;
}

const styles = { red: 31, green: 32, yellow: 33, dim: 2 } as const;

export function paint(terminal: Terminal, style: keyof typeof styles, text: string): string {
  return terminal.color ? `\x1b[${styles[style]}m${text}\x1b[0m` : text;
}

/** Names from a sandbox may hold escape sequences; a terminal gets them visible, not obeyed (hazard 33). */
export function visible(text: string): string {
  return text.replaceAll(/[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

export function formatError(terminal: Terminal, error: AppError): string {
  const first = `${paint(terminal, "red", "caisson:")} ${visible(error.message)}`;
  return error.hint === undefined
    ? `${first}\n`
    : `${first}\n  ${paint(terminal, "dim", "hint:")} ${visible(error.hint)}\n`;
}

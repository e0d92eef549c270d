import type { AppError } from "../core/errors.ts";

export interface Terminal {
  color: boolean;
}

const styles = { red: 31, green: 32, yellow: 33, dim: 2 } as const;

export function paint(terminal: Terminal, style: keyof typeof styles, text: string): string {
  return terminal.color ? `\x1b[${styles[style]}m${text}\x1b[0m` : text;
}

/** Control characters, what turns the direction of text, and what takes no room: by each a text can show less, or other, than it is. */
const hidden = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Names from a sandbox may hold escape sequences; a terminal gets them visible, not obeyed (hazard 33). */
export function visible(text: string): string {
  return text.replaceAll(hidden, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

/** JSON whose strings hold none of these either: it means the same. */
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

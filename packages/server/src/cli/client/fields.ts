import { AppError } from "../../core/errors.ts";
import { parseNumber, parseSize } from "../../core/size.ts";
import type { ParsedOptions } from "../options.ts";

const MiB = 1024 ** 2;

/** An object without what was not asked for. */
export function given<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

export function number(options: ParsedOptions, name: string): number | undefined {
  const text = options.text(name);
  return text === undefined ? undefined : parseNumber(text, `--${name}`);
}

export function megabytes(options: ParsedOptions, name: string): number | undefined {
  const text = options.text(name);
  return text === undefined ? undefined : parseSize(text, `--${name}`) / MiB;
}

/** NAME=VALUE, as often as it was given. */
export function pairs(options: ParsedOptions, name: string): Record<string, string> | undefined {
  const texts = options.texts(name);
  if (texts.length === 0) return undefined;
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf("=");
      if (at < 1) throw new AppError("invalid", `--${name} takes NAME=VALUE, not '${text}'`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

import { AppError } from "./errors.ts";
import type { Range } from "./limits.ts";

const units: Record<string, number> = { "": 1024 ** 2, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** A plain number is MB; k, M and G suffixes are powers of 1024. */
export function parseSize(text: string, what: string): number {
  const match = /^(\d+(?:\.\d+)?)([kmg]?)(?:i?b)?$/i.exec(text.trim());
  const unit = units[(match?.[2] ?? "?").toLowerCase()];
  if (match?.[1] === undefined || unit === undefined)
    throw new AppError("invalid", `${what}: '${text}' is not a size`, {
      hint: "write a number of MB, or 512M, 2G, 64k",
    });
  return Math.floor(Number(match[1]) * unit);
}

export function parseNumber(text: string, what: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0)
    throw new AppError("invalid", `${what}: '${text}' is not a number`);
  return value;
}

/** A request outside its range is refused, and told the cap. */
export function checkRange(value: number, range: Range, what: string, show: (value: number) => string): number {
  if (Number.isNaN(value)) throw new AppError("invalid", `${what} is not a number`);
  if (value > range.max)
    throw new AppError("invalid", `${what}: ${show(value)} exceeds the maximum of ${show(range.max)}`);
  if (value < range.min)
    throw new AppError("invalid", `${what}: ${show(value)} is below the minimum of ${show(range.min)}`);
  return value;
}

export function showBytes(bytes: number): string {
  for (const [unit, size] of [
    ["GB", 1024 ** 3],
    ["MB", 1024 ** 2],
    ["KB", 1024],
  ] as const)
    if (bytes >= size) return `${Number((bytes / size).toFixed(1))} ${unit}`;
  return `${bytes} bytes`;
}

export function showSeconds(ms: number): string {
  return `${ms / 1000} s`;
}

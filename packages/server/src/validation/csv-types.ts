import { AppError } from "../core/errors.ts";
import { type CsvType, csvTypes } from "../core/validation.ts";

const isDay = (text: string) => {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return false;
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number];
  const date = new Date(Date.UTC(year, month - 1, day));
  date.setUTCFullYear(year);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
};

/** ISO 8601, with or without seconds and zone. */
const isTime = (text: string) =>
  /^([01]\d|2[0-3]):[0-5]\d(:([0-5]\d|60)(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):?[0-5]\d)?$/.test(text);

const fits: Record<CsvType, (text: string) => boolean> = {
  str: () => true,
  int: (text) => /^[+-]?\d+$/.test(text),
  float: (text) => /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(inf|infinity|nan)$/i.test(text),
  bool: (text) => /^(true|false|yes|no|1|0)$/i.test(text),
  date: isDay,
  datetime: (text) => (text[10] === "T" || text[10] === " ") && isDay(text.slice(0, 10)) && isTime(text.slice(11)),
};

const otherNames: Record<string, CsvType> = {
  string: "str",
  text: "str",
  integer: "int",
  number: "float",
  double: "float",
  decimal: "float",
  boolean: "bool",
  timestamp: "datetime",
};

export interface Constraint {
  type: CsvType;
  mayBeEmpty: boolean;
  fits(text: string): boolean;
}

/** `int`, or `int?` for a field that may be empty. */
export function readConstraint(column: string, text: string): Constraint {
  const mayBeEmpty = text.endsWith("?");
  const name = (mayBeEmpty ? text.slice(0, -1) : text).trim().toLowerCase();
  const type =
    csvTypes.find((known) => known === name) ?? (Object.hasOwn(otherNames, name) ? otherNames[name] : undefined);
  if (type === undefined)
    throw new AppError(
      "invalid",
      `${JSON.stringify(text.slice(0, 40))} is not a type for the column ${JSON.stringify(column)}`,
      {
        hint: `types: ${csvTypes.join(", ")}; add ? to allow empty fields`,
      },
    );
  return { type, mayBeEmpty: mayBeEmpty || type === "str", fits: fits[type] };
}

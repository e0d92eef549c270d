import { isIP } from "node:net";
import { AppError } from "../core/errors.ts";
import { nearMiss } from "../lib/near-miss.ts";
import { parseNetwork } from "../lib/network-list.ts";
import { configLimits } from "./limits.ts";
import { defaultOf, type SettingSpec, type Value } from "./settings.ts";

/** The place of a value in an error message: `caisson.yaml:3: max_ram_mb`, `CAISSON_MAX_RAM_MB`. */
type ValueLocation = string;

function show(value: unknown): string {
  const text = typeof value === "string" ? `'${value}'` : (JSON.stringify(value) ?? String(value));
  return text.length <= configLimits.shownCharacters ? text : `${text.slice(0, configLimits.shownCharacters)}…`;
}

function wrong(location: ValueLocation, value: unknown, expected: string, hint?: string): AppError {
  return new AppError("invalid", `${location}: ${show(value)} is not ${expected}`, hint === undefined ? {} : { hint });
}

function checkNumber(spec: SettingSpec & { type: "number" }, value: unknown, location: ValueLocation): number {
  if (typeof value !== "number" || !Number.isFinite(value)) throw wrong(location, value, "a number");
  if (spec.whole === true && !Number.isInteger(value)) throw wrong(location, value, "a whole number");
  const { min, max } = spec.range;
  if (value > max) throw new AppError("invalid", `${location}: ${value} exceeds the maximum of ${max}`);
  if (value < min) throw new AppError("invalid", `${location}: ${value} is below the minimum of ${min}`);
  return value;
}

function checkChoice(spec: SettingSpec & { type: "choice" }, value: unknown, location: ValueLocation): string {
  const found =
    spec.choices.find((choice) => choice === value) ?? (typeof value === "string" ? spec.aliases?.[value] : undefined);
  if (found !== undefined) return found;
  const meant = typeof value === "string" ? nearMiss(value, spec.choices) : undefined;
  const hint = meant === undefined ? {} : { hint: `did you mean ${meant}?` };
  throw new AppError("invalid", `${location}: ${show(value)} is not one of ${spec.choices.join(", ")}`, hint);
}

/** Returns a value of the right type and range, or throws an error with the place and the reason. */
export function checkValue(spec: SettingSpec, value: unknown, location: ValueLocation): Value {
  switch (spec.type) {
    case "number":
      return checkNumber(spec, value, location);
    case "choice":
      return checkChoice(spec, value, location);
    case "boolean":
      if (typeof value !== "boolean") throw wrong(location, value, "true or false");
      return value;
    case "path":
      if (typeof value !== "string" || !value.startsWith("/") || value.includes("\0"))
        throw wrong(location, value, "an absolute path");
      return value;
    case "database":
      // The daemon can write only in its own folder.
      if (typeof value !== "string" || !/^\w[\w.-]{0,100}\.(db|sqlite|sqlite3)$/.test(value))
        throw wrong(
          location,
          value,
          "a file name that ends in .db, .sqlite or .sqlite3",
          "the file is always in the data folder",
        );
      return value;
    case "user":
      if (typeof value !== "string" || !/^[a-z_][\w-]{0,31}$/.test(value)) throw wrong(location, value, "a user name");
      return value;
    case "address":
      if (typeof value !== "string" || isIP(value) === 0) throw wrong(location, value, "an IP address");
      return value;
    case "url":
      return checkUrl(value, location);
    case "networks":
      return checkNetworks(value, location);
    case "list":
      return checkList(value, location);
  }
}

function checkList(value: unknown, location: ValueLocation): string[] {
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string"))
    throw wrong(location, value, "a list of strings");
  return value;
}

/** Returns the origin: links are this value and a path. */
function checkUrl(value: unknown, location: ValueLocation): string {
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw wrong(location, value, "an http or https URL", "https://caisson.example.com");
  if (url.href !== `${url.origin}/`)
    throw wrong(location, value, "a URL without user, path and query", `write ${url.origin}`);
  return url.origin;
}

function checkNetworks(value: unknown, location: ValueLocation): string[] {
  const networks = checkList(value, location);
  const odd = networks.find((text) => parseNetwork(text) === undefined);
  if (odd !== undefined) throw wrong(location, odd, "an IP address or network", "127.0.0.1, or 10.0.0.0/24");
  return networks;
}

const words: Record<string, boolean> = {
  "1": true,
  true: true,
  yes: true,
  on: true,
  "0": false,
  false: false,
  no: false,
  off: false,
};

/** Parses the text of an environment variable; checkValue then checks the result. */
export function fromText(spec: SettingSpec, text: string): unknown {
  switch (spec.type) {
    case "number":
      return /^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text;
    case "boolean":
      return words[text.trim().toLowerCase()] ?? text;
    case "list":
    case "networks":
      return text === "" ? defaultOf(spec) : text.split(",").map((item) => item.trim());
    default:
      return text;
  }
}

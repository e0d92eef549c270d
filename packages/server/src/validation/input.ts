import { AppError } from "../core/errors.ts";
import { type JsonSchema, type SchemaName, schemaNames } from "../core/validation.ts";
import { validationLimits } from "./limits.ts";

/** Text of at most so many bytes of UTF-8, which it must be. */
export function readText(what: string, text: string | Uint8Array, maxBytes: number): string {
  const bytes = typeof text === "string" ? byteLength(text, maxBytes) : text.byteLength;
  if (bytes > maxBytes) throw tooLarge(what, maxBytes);
  if (typeof text === "string") {
    if (text.isWellFormed()) return text;
    throw new AppError("invalid", `the ${what} is not valid text: it contains half of a character`, {
      details: { encoding: "utf-8" },
    });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(text);
  } catch {
    throw new AppError("invalid", `the ${what} is not UTF-8`, {
      hint: "save it as UTF-8",
      details: { encoding: "utf-8" },
    });
  }
}

/** More units than bytes are allowed need no counting. */
const byteLength = (text: string, maxBytes: number) => (text.length > maxBytes ? text.length : Buffer.byteLength(text));

function tooLarge(what: string, maxBytes: number): AppError {
  return new AppError("too_large", `the ${what} is too large (limit: ${maxBytes} bytes)`, { details: { maxBytes } });
}

/** JSON of a value of at most that size. One from a stranger may be nested deeper than a stack. */
export function writeJson(what: string, value: unknown, maxBytes: number): string {
  const text = stringify(what, value);
  if (text === undefined) throw new AppError("invalid", `the ${what} is not JSON`);
  if (byteLength(text, maxBytes) > maxBytes) throw tooLarge(what, maxBytes);
  return text;
}

function stringify(what: string, value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) throw new AppError("too_large", `the ${what} is nested too deeply`);
    throw new AppError("invalid", `the ${what} is not JSON`, { cause: error });
  }
}

export function readSchema(schema: unknown): { name: SchemaName } | { text: string } {
  if (typeof schema === "string") {
    const name = schemaNames.find((known) => known === schema);
    if (name !== undefined) return { name };
    const shown = JSON.stringify(schema.slice(0, validationLimits.schemaNameCharacters));
    throw new AppError("not_found", `unknown schema ${shown}`, {
      hint: `schemas by name: ${schemaNames.join(", ")}`,
    });
  }
  if (typeof schema !== "boolean" && (typeof schema !== "object" || schema === null || Array.isArray(schema)))
    throw new AppError("invalid", "a schema must be an object, true, false, or the name of a schema");
  return { text: writeJson("schema", schema as JsonSchema, validationLimits.schemaBytes) };
}

import type { ContextError, ContextResult } from "../core/context.ts";
import { jsonLimits } from "../core/json-limits.ts";
import { contextLimits } from "../core/limits.ts";
import { parseJson } from "../core/parse-json.ts";

/** What no honest kernel says: its context is ended. */
export class KernelViolation extends Error {}

export type KernelMessage =
  | { type: "ready" }
  | { type: "result"; result: ContextResult; chars: number }
  | { type: "end"; id: number; error?: ContextError };

type Fields = Record<string, unknown>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown, chars: number): string {
  if (typeof value !== "string") throw new KernelViolation("a text that is none");
  return value.length > chars ? value.slice(0, chars) : value;
}

/** A tree that nobody can walk without care is left out. */
function parseTree(source: string): { json: unknown } | undefined {
  try {
    return { json: parseJson(source, { ...jsonLimits.data, depth: contextLimits.jsonDepth }) };
  } catch {
    return undefined;
  }
}

const isPng = (value: string) => /^iVBORw0KGgo[A-Za-z0-9+/]*={0,2}$/.test(value);

function parseResult(fields: Fields): KernelMessage {
  const { richChars, textChars } = contextLimits;
  const result: ContextResult = {
    kind: fields.kind === "value" ? "value" : "display",
    text: text(fields.text, textChars),
    truncated: fields.truncated === true,
  };
  let chars = result.text.length;
  for (const key of ["json", "html", "png", "svg"] as const) {
    const part = fields[key];
    if (part === undefined) continue;
    const value = text(part, richChars + 1);
    const json = key === "json" ? parseTree(value) : undefined;
    if (value.length > richChars || (key === "png" && !isPng(value)) || (key === "json" && json === undefined)) {
      result.truncated = true;
      continue;
    }
    chars += value.length;
    if (json !== undefined) result.json = json.json;
    else if (key !== "json") result[key] = value;
  }
  return { type: "result", result, chars };
}

function parseEnd(fields: Fields): KernelMessage {
  const { id, error } = fields;
  if (typeof id !== "number" || !Number.isSafeInteger(id)) throw new KernelViolation("an end of no run");
  if (error === undefined) return { type: "end", id };
  if (!isFields(error)) throw new KernelViolation("an error that is none");
  const { traceChars } = contextLimits;
  return {
    type: "end",
    id,
    error: {
      name: text(error.name, 200),
      message: text(error.message, traceChars),
      traceback: text(error.traceback, traceChars + 16),
    },
  };
}

/** Reads a message of a kernel, which may be the user's own forgery: only what is known comes through, cut to its limit. */
export function parseKernelMessage(bytes: Buffer): KernelMessage {
  let fields: unknown;
  try {
    fields = parseJson(bytes, jsonLimits.request);
  } catch {
    throw new KernelViolation("a message that is no JSON");
  }
  if (!isFields(fields)) throw new KernelViolation("a message that is no object");
  if (fields.type === "ready") return { type: "ready" };
  if (fields.type === "result") return parseResult(fields);
  if (fields.type === "end") return parseEnd(fields);
  throw new KernelViolation("a message of no known type");
}

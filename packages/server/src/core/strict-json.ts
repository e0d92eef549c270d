/** Reads JSON that somebody else reads after us: all readers must see the same value in it (S131). */
import { type JsonBounds, JsonScan } from "../lib/json-scan.ts";
import { AppError } from "./errors.ts";

/** A number in the digits that it was written in. `JSON.stringify` writes it back unchanged. */
interface WrittenNumber {
  readonly rawJSON: string;
}

interface ExactJson {
  parse(text: string, revive?: (name: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): WrittenNumber;
  isRawJSON(value: unknown): value is WrittenNumber;
}
/** Newer than the compiler's library. */
const exact = JSON as unknown as ExactJson;

/** Refuses names that stand twice in an object, bytes that are no UTF-8, and halves of surrogate pairs. Text that is no JSON is a SyntaxError. */
export function strictJson(bytes: Buffer, bounds: JsonBounds): unknown {
  const scan = new JsonScan(bounds);
  const why = scan.push(bytes);
  if (why !== undefined) throw new AppError("too_large", `JSON with ${why}`);
  return readScanned(bytes, scan);
}

/** The same for a text that was measured while it came. */
export function readScanned(bytes: Buffer, scan: JsonScan): unknown {
  if (scan.namesPrototype) throw ambiguous("a name that reaches a prototype");
  const value = parse(decode(bytes), scan.hasInexactNumber);
  if (countNames(value) !== scan.names) throw ambiguous("a name twice in one object");
  return value;
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw ambiguous("bytes that are not UTF-8");
  }
}

function parse(text: string, keepNumbers: boolean): unknown {
  return keepNumbers ? exact.parse(text, (_, value, { source }) => asWritten(value, source)) : JSON.parse(text);
}

function asWritten(value: unknown, source: string | undefined): unknown {
  if (typeof value !== "number" || source === undefined || String(value) === source) return value;
  if (!Number.isFinite(value)) throw ambiguous("a number that is too large");
  return exact.rawJSON(source);
}

/** Names in a tree, each once where a parser kept one of two. */
function countNames(root: unknown): number {
  let names = 0;
  const left: unknown[] = [root];
  for (let value = left.pop(); left.length > 0 || value !== undefined; value = left.pop()) {
    if (typeof value === "string") requireWhole(value);
    if (typeof value !== "object" || value === null || exact.isRawJSON(value)) continue;
    if (Array.isArray(value)) {
      for (const item of value) left.push(item);
      continue;
    }
    for (const [name, item] of Object.entries(value)) {
      names += 1;
      requireWhole(name);
      left.push(item);
    }
  }
  return names;
}

function requireWhole(text: string): void {
  if (!text.isWellFormed()) throw ambiguous("half of a surrogate pair");
}

function ambiguous(why: string): AppError {
  return new AppError("invalid", `JSON with ${why} is read differently by different programs`);
}

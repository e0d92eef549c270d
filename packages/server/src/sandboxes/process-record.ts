import { lstat, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError, errnoOf } from "../core/errors.ts";
import type { ProcessResult } from "../core/process-result.ts";
import { processLimits } from "./limits.ts";

const version = 1;

/** What a later owner must know of a background process; its output lies beside it. */
export interface ProcessRecord {
  id: string;
  runId: string;
  stream: number;
  pid: number | null;
  command: readonly string[];
  startedAt: string;
  cpuTimeMs: number;
  stdin: boolean;
  terminal: boolean;
  inputClosed: boolean;
  result: ProcessResult | null;
  /** Why nothing more can be known of it. */
  lost: string | null;
}

const shape: Record<keyof ProcessRecord, (value: unknown) => boolean> = {
  id: isText,
  runId: isText,
  stream: isWhole,
  pid: (value) => value === null || isWhole(value),
  command: (value) => Array.isArray(value) && value.every((word) => typeof word === "string"),
  startedAt: (value) => isText(value) && !Number.isNaN(Date.parse(String(value))),
  cpuTimeMs: isWhole,
  stdin: isFlag,
  terminal: isFlag,
  inputClosed: isFlag,
  result: (value) => value === null || hasShape(value, resultShape),
  lost: (value) => value === null || isText(value),
};

const resultShape: Record<keyof ProcessResult, (value: unknown) => boolean> = {
  exit_code: isCount,
  signal: (value) => value === null || isText(value),
  duration_ms: isCount,
  cpu_ms: isCount,
  max_rss: isCount,
  timed_out: isFlag,
  cpu_limit: isFlag,
  oom_killed: isFlag,
};

function isText(value: unknown): boolean {
  return typeof value === "string";
}
function isFlag(value: unknown): boolean {
  return typeof value === "boolean";
}
function isCount(value: unknown): boolean {
  return typeof value === "number" && value >= 0;
}
function isWhole(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) > 0;
}
function hasShape(value: unknown, expected: Record<string, (value: unknown) => boolean>): boolean {
  if (typeof value !== "object" || value === null) return false;
  const entries = Object.entries(value);
  return (
    entries.length === Object.keys(expected).length &&
    entries.every(([name, field]) => expected[name]?.(field) === true)
  );
}

/** Appears whole or not at all. */
export async function writeProcessRecord(folder: string, record: ProcessRecord): Promise<void> {
  const draft = join(folder, ".process.json");
  await writeFile(draft, JSON.stringify({ version, ...record }), { mode: 0o600 });
  await rename(draft, join(folder, "process.json"));
}

/** Undefined where a start was never confirmed to anybody. */
export async function readProcessRecord(folder: string, id: string): Promise<ProcessRecord | undefined> {
  const path = join(folder, "process.json");
  let text: string;
  try {
    if ((await lstat(path)).size > processLimits.recordBytes) throw damaged(id);
    text = await readFile(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
  return parseProcessRecord(id, text);
}

export function parseProcessRecord(id: string, text: string): ProcessRecord {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw damaged(id, cause);
  }
  const expected = { ...shape, version: (found: unknown) => found === version };
  if (!hasShape(value, expected)) throw damaged(id);
  const { version: _, ...record } = value as ProcessRecord & { version: number };
  if (record.id !== id) throw damaged(id);
  return record;
}

function damaged(id: string, cause?: unknown): AppError {
  return new AppError("internal", `the record of process ${id} is damaged`, { cause });
}

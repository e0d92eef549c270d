import type { ErrorCode } from "../core/errors.ts";
import type { Language } from "../core/language.ts";
import type {
  CsvToValidate,
  CsvValidation,
  Finding,
  JsonValidation,
  SchemaName,
  ValidationPolicy,
} from "../core/validation.ts";

/** What a thread is asked. */
export type Task =
  | { kind: "code"; language: Language; code: string; policy: ValidationPolicy; autoFix: boolean }
  /** JSON texts: a thread parses faster than a structure is copied to it. */
  | { kind: "json"; data: string; schema: { name: SchemaName } | { text: string } }
  | ({ kind: "csv" } & Omit<CsvToValidate, "csv"> & { csv: string });

interface CodeResult {
  findings: Finding[];
  truncated: boolean;
  fixedCode?: string;
}

export interface TaskResults {
  code: CodeResult;
  json: JsonValidation;
  csv: CsvValidation;
}

export type TaskResult = TaskResults[Task["kind"]];

export type FromWorker =
  | { ready: true }
  /** The parser is there: from now on it reads. */
  | { loaded: true }
  | { answer: TaskResult }
  /** After `last` the thread can be relied on no longer: a parser ran out of its stack. */
  | { error: { code: ErrorCode; message: string; hint?: string; details?: Record<string, unknown> }; last?: true };

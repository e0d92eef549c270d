import type { Language } from "./language.ts";

/**
 * `error`: it cannot run. `danger`: what policy `strict` refuses. `warning`: likely a mistake, or worth a look. Isolation is the
 * boundary, not this: code can always do what no reader of it sees.
 */
export const severities = ["error", "danger", "warning"] as const;
export type Severity = (typeof severities)[number];

export const validationPolicies = ["advise", "strict"] as const;
export type ValidationPolicy = (typeof validationPolicies)[number];

/** Lines and columns count from 1, columns in characters (Unicode code points). */
export interface Finding {
  rule: string;
  severity: Severity;
  message: string;
  line: number;
  column: number;
  endLine?: number;
  endColumn?: number;
  /** Code that auto-fix inserts. */
  fix?: string;
}

export interface CodeToValidate {
  language: Language;
  /** Bytes are taken as UTF-8. */
  code: string | Uint8Array;
  autoFix: boolean;
  policy: ValidationPolicy;
}

export const codeCheckers = ["ruff", "acorn", "unbash", "bash"] as const;
export type CodeChecker = (typeof codeCheckers)[number];

export interface CodeValidation {
  language: Language;
  policy: ValidationPolicy;
  /** True when it can run: there is no finding of severity `error`. */
  valid: boolean;
  /** True when policy `strict` refuses it. */
  refused: boolean;
  findings: Finding[];
  /** More findings than are told. */
  truncated: boolean;
  /** The code with the imports that it lacks, where auto-fix was asked for and has something to add. */
  fixedCode?: string;
  checkedBy: CodeChecker[];
}

/** `bash -n` in a sandbox: what bash itself says of a script that it does not run. */
export type CheckShell = (code: string) => Promise<{ exitCode: number; stderr: string }>;

export const schemaNames = ["config", "user", "dataset"] as const;
export type SchemaName = (typeof schemaNames)[number];

export type JsonSchema = Record<string, unknown> | boolean;

export interface JsonIssue {
  /** A JSON Pointer (RFC 6901) into the data; empty for all of it. */
  path: string;
  /** The keyword that it breaks, and where that stands in the schema. */
  keyword: string;
  schemaPath: string;
  message: string;
}

export interface JsonValidation {
  valid: boolean;
  /** Null for a schema of the caller's. */
  schema: SchemaName | null;
  errors: JsonIssue[];
  errorCount: number;
  truncated: boolean;
}

export const csvTypes = ["str", "int", "float", "bool", "date", "datetime"] as const;
export type CsvType = (typeof csvTypes)[number];

export interface CsvToValidate {
  csv: string | Uint8Array;
  requiredHeaders: readonly string[];
  /** By column; `int?` may be empty. */
  typeConstraints: Readonly<Record<string, string>>;
}

export const csvRules = [
  "missing_header",
  "duplicate_header",
  "missing_column",
  "field_count",
  "syntax",
  "empty",
  "type",
] as const;

export interface CsvIssue {
  rule: (typeof csvRules)[number];
  message: string;
  /** Records from 1, the header is the first; lines of the text too, since a quoted field may have several. */
  row: number;
  line: number;
  column: string | null;
  /** From 1. */
  columnNumber: number | null;
  value?: string;
}

export interface CsvValidation {
  valid: boolean;
  headers: string[];
  /** Without the header. */
  rows: number;
  errors: CsvIssue[];
  errorCount: number;
  truncated: boolean;
}

export interface Validation {
  /** On somebody's account: nobody's checks hold up those of others for long. */
  for(owner: string): Validation;
  /** Without `checkShell` a script is read by the parser alone, and the result says so. */
  code(input: CodeToValidate, signal?: AbortSignal, checkShell?: CheckShell): Promise<CodeValidation>;
  json(data: unknown, schema: string | JsonSchema, signal?: AbortSignal): Promise<JsonValidation>;
  csv(input: CsvToValidate, signal?: AbortSignal): Promise<CsvValidation>;
}

import { AppError } from "../core/errors.ts";
import type { CsvIssue, CsvValidation } from "../core/validation.ts";
import { type CsvRecord, readRecords } from "./csv-reader.ts";
import { type Constraint, readConstraint } from "./csv-types.ts";
import { validationLimits } from "./limits.ts";

interface CsvInput {
  csv: string;
  requiredHeaders: readonly string[];
  typeConstraints: Readonly<Record<string, string>>;
}

type Issue = Omit<CsvIssue, "line" | "row">;

/** Every error of a table with its row and column; as many of them are told as a result holds. */
export function validateCsv({ csv, requiredHeaders, typeConstraints }: CsvInput): CsvValidation {
  const constraints = Object.entries(typeConstraints).map(([column, type]) => ({
    column,
    ...readConstraint(column, type),
  }));
  if (requiredHeaders.length > validationLimits.columns) throw tooMany("required headers");
  if (constraints.length > validationLimits.columns) throw tooMany("type constraints");
  const errors: CsvIssue[] = [];
  let errorCount = 0;
  let row = 0;
  let headers: string[] = [];
  let checks: (Constraint | undefined)[] = [];
  const tell = (record: CsvRecord | undefined, issue: Issue) => {
    errorCount += 1;
    if (errors.length < validationLimits.errors)
      errors.push({ ...issue, row: Math.max(row, 1), line: record?.line ?? 1 });
  };
  for (const record of readRecords(csv)) {
    row += 1;
    if (record.fault !== undefined) {
      const { field, message } = record.fault;
      tell(record, { rule: "syntax", message, column: headers[field] ?? null, columnNumber: field + 1 });
    }
    if (row === 1) {
      if (record.fields.length > validationLimits.columns) throw tooMany("columns");
      headers = record.fields.map((header) => header.trim());
      checks = headers.map((header) => constraints.find(({ column }) => column === header));
      for (const issue of checkHeaders(headers, requiredHeaders, constraints)) tell(record, issue);
      continue;
    }
    for (const issue of checkFields(record.fields, headers, checks)) tell(record, issue);
  }
  if (row === 0) for (const issue of checkHeaders([], requiredHeaders, constraints)) tell(undefined, issue);
  return {
    valid: errorCount === 0,
    headers: headers.map((header) => header.slice(0, validationLimits.headerCharacters)),
    rows: Math.max(row - 1, 0),
    errors,
    errorCount,
    truncated: errorCount > errors.length,
  };
}

function* checkHeaders(
  headers: readonly string[],
  required: readonly string[],
  constraints: readonly { column: string }[],
): Generator<Issue> {
  const seen = new Set<string>();
  for (const [at, header] of headers.entries()) {
    if (seen.has(header))
      yield {
        rule: "duplicate_header",
        message: `the header ${show(header)} is there twice`,
        column: header,
        columnNumber: at + 1,
      };
    seen.add(header);
  }
  for (const header of required) {
    if (!seen.has(header))
      yield {
        rule: "missing_header",
        message: `the header ${show(header)} is missing`,
        column: header,
        columnNumber: null,
      };
  }
  for (const { column } of constraints) {
    if (!seen.has(column) && !required.includes(column))
      yield {
        rule: "missing_column",
        message: `there is no column ${show(column)} to check`,
        column,
        columnNumber: null,
      };
  }
}

function* checkFields(
  fields: readonly string[],
  headers: readonly string[],
  checks: readonly (Constraint | undefined)[],
): Generator<Issue> {
  if (fields.length !== headers.length)
    yield {
      rule: "field_count",
      message: `${fields.length} fields where the header has ${headers.length}`,
      column: null,
      columnNumber: null,
    };
  for (const [at, check] of checks.entries()) {
    const field = fields[at];
    if (check === undefined || field === undefined) continue;
    const column = headers[at] ?? null;
    const value = field.trim();
    if (value === "") {
      if (!check.mayBeEmpty)
        yield {
          rule: "empty",
          message: `empty, where ${check.type} is asked for`,
          column,
          columnNumber: at + 1,
          value: "",
        };
    } else if (!check.fits(value)) {
      const shown = value.slice(0, validationLimits.valueCharacters);
      yield { rule: "type", message: `${show(shown)} is no ${check.type}`, column, columnNumber: at + 1, value: shown };
    }
  }
}

const tooMany = (what: string) => new AppError("too_large", `more than ${validationLimits.columns} ${what}`);

const show = (text: string) => JSON.stringify(text.slice(0, validationLimits.valueCharacters));

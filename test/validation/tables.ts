import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Language } from "../../packages/server/src/core/language.ts";
import type { Finding, ValidationPolicy } from "../../packages/server/src/core/validation.ts";

export interface CodeRow {
  name: string;
  code: string;
  policy?: ValidationPolicy;
  /** `line:column severity rule`, in the order of the code. */
  findings: string[];
  fixedCode?: string;
}

export function readTable<Row>(name: string): Row[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, `tables/${name}.json`), "utf8"));
}

export const codeTable = (language: Language) => readTable<CodeRow>(language);

export const short = ({ line, column, severity, rule }: Finding) => `${line}:${column} ${severity} ${rule}`;

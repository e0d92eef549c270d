import type {
  CheckShell,
  CodeChecker,
  CodeToValidate,
  CodeValidation,
  CsvToValidate,
  CsvValidation,
  Finding,
  JsonSchema,
  JsonValidation,
  Validation,
} from "../core/validation.ts";
import { mergeBash } from "./bash.ts";
import { readSchema, readText, writeJson } from "./input.ts";
import { validationLimits } from "./limits.ts";
import { type PoolTimes, WorkerPool } from "./worker-pool.ts";

const checkers = { python: "ruff", node: "acorn", shell: "unbash" } as const satisfies Record<string, CodeChecker>;

/** Reads code and data of strangers without running them. It advises: what holds code is the sandbox. */
export class CodeAndDataValidation implements Validation, AsyncDisposable {
  readonly #pool: WorkerPool;
  readonly #owner: string;

  constructor(
    times?: PoolTimes,
    shared: { pool: WorkerPool; owner: string } = { pool: new WorkerPool(times), owner: "" },
  ) {
    this.#pool = shared.pool;
    this.#owner = shared.owner;
  }

  for(owner: string): Validation {
    return new CodeAndDataValidation(undefined, { pool: this.#pool, owner });
  }

  async code(input: CodeToValidate, signal?: AbortSignal, checkShell?: CheckShell): Promise<CodeValidation> {
    const { language, policy, autoFix } = input;
    const code = readText("code", input.code, validationLimits.codeBytes);
    const checkedBy: CodeChecker[] = [checkers[language]];
    const [answer, bash] = await Promise.all([
      this.#pool.run({ kind: "code", language, code, policy, autoFix }, signal, this.#owner),
      language === "shell" ? checkShell?.(code) : undefined,
    ]);
    let findings: Finding[] = answer.findings;
    if (bash !== undefined) {
      checkedBy.push("bash");
      findings = mergeBash(code, findings, bash);
    }
    return {
      language,
      policy,
      valid: findings.every(({ severity }) => severity !== "error"),
      refused: findings.some(({ severity }) => severity !== "warning"),
      findings,
      truncated: answer.truncated,
      ...(answer.fixedCode === undefined ? {} : { fixedCode: answer.fixedCode }),
      checkedBy,
    };
  }

  async json(data: unknown, schema: string | JsonSchema, signal?: AbortSignal): Promise<JsonValidation> {
    const wanted = readSchema(schema);
    const text = writeJson("data", data, validationLimits.jsonBytes);
    return this.#pool.run({ kind: "json", data: text, schema: wanted }, signal, this.#owner);
  }

  async csv({ csv, requiredHeaders, typeConstraints }: CsvToValidate, signal?: AbortSignal): Promise<CsvValidation> {
    const text = readText("CSV", csv, validationLimits.csvBytes);
    return this.#pool.run({ kind: "csv", csv: text, requiredHeaders, typeConstraints }, signal, this.#owner);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
  }
}

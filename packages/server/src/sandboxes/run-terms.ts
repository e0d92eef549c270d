import type { CreatedSandbox, EngineName, SandboxLimits } from "../core/engine.ts";
import { checkEnvironment, type Environment } from "../core/environment.ts";
import { sandboxLimits } from "../core/limits.ts";
import type { Redactor } from "../core/redaction.ts";
import { checkSecret } from "./namespaces.ts";

/** Limits and environment of the runs of a sandbox at present: both change when it is handed over. */
export class RunTerms {
  limits: SandboxLimits;
  environment: Environment;
  readonly #engine: EngineName;
  readonly #mayBeWarm: boolean;
  readonly #usual: Environment;
  #held: Environment = {};

  constructor({ limits, engine, warm }: CreatedSandbox, usual: Environment) {
    this.limits = limits;
    this.environment = usual;
    this.#engine = engine;
    this.#mayBeWarm = warm !== "never";
    this.#usual = usual;
  }

  /** So little memory that an interpreter which waits would leave runs too little. */
  get isTight(): boolean {
    return this.limits.memoryBytes < sandboxLimits.warmMemoryBytes[this.#engine];
  }

  get warm(): boolean {
    return this.#mayBeWarm && !this.isTight;
  }

  /** A variable that stays whatever environment is set. */
  hold(name: string, value: string): void {
    this.#held = { ...this.#held, [name]: value };
  }

  get held(): Environment {
    return this.#held;
  }

  setEnvironment(env: Environment): void {
    this.environment = { ...this.#usual, ...checkEnvironment(env) };
  }
}

/** The redactor knows the value before any run can. */
export function addSecret(terms: RunTerms, redactor: Redactor, name: string, value: string): void {
  checkSecret(name, value);
  redactor.hide([Buffer.from(value)]);
  terms.hold(name, value);
}

import type { CreatedSandbox, EngineName, SandboxLimits } from "../core/engine.ts";
import { sandboxLimits } from "../core/limits.ts";
import { checkEnvironment } from "./run.ts";

type Environment = Readonly<Record<string, string>>;

/** What the runs of a sandbox may use and what they find, as it is now: both change when it is handed to somebody. */
export class Terms {
  limits: SandboxLimits;
  environment: Environment;
  readonly #engine: EngineName;
  readonly #mayBeWarm: boolean;
  readonly #usual: Environment;

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

  setEnvironment(env: Environment): void {
    this.environment = { ...this.#usual, ...checkEnvironment(env) };
  }
}

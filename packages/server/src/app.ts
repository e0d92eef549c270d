import { join } from "node:path";
import type { Diagnosis } from "./core/diagnosis.ts";
import type { Engine, EngineName, SandboxLimits } from "./core/engine.ts";
import { type EngineChoice, resolveSandboxLimits } from "./core/request.ts";
import { createOciEngine } from "./engines/oci/engine.ts";
import { Sandbox } from "./sandboxes/sandbox.ts";
import { WireConnection } from "./wire/connection.ts";

export interface CaissonOptions {
  /** The data folder. */
  home: string;
  /** The checkout or installation, whose .build holds the compiled programs. */
  root: string;
}

export interface CreateOptions {
  engine?: EngineChoice;
  limits?: Partial<SandboxLimits>;
  inputFolder?: string;
  output?: boolean;
}

/** Caisson in this process: engines are opened at first use and closed with it. */
export class Caisson implements AsyncDisposable {
  readonly #options: CaissonOptions;
  readonly #engines = new Map<EngineName, Promise<Engine>>();

  constructor(options: CaissonOptions) {
    this.#options = options;
  }

  async createSandbox(options: CreateOptions = {}): Promise<Sandbox> {
    const limits = resolveSandboxLimits(options.limits ?? {});
    const name = await this.#choose(options.engine ?? "auto");
    const engine = await this.#engine(name);
    return Sandbox.create(
      { engine, attach: (created, died) => WireConnection.attach(created, died), environment: {} },
      {
        limits,
        output: options.output ?? false,
        ...(options.inputFolder === undefined ? {} : { inputFolder: options.inputFolder }),
      },
    );
  }

  async diagnose(): Promise<Diagnosis> {
    throw new Error("later");
  }

  async #choose(choice: EngineChoice): Promise<EngineName> {
    return choice === "auto" ? "gvisor" : choice;
  }

  #engine(name: EngineName): Promise<Engine> {
    const bin = join(this.#options.root, ".build/bin");
    const known = this.#engines.get(name);
    if (known !== undefined) return known;
    const opened = createOciEngine({
      name,
      home: this.#options.home,
      guestPath: join(bin, "caisson-guest"),
      helperPath: join(bin, "caisson-helper"),
    });
    this.#engines.set(name, opened);
    return opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const engine of this.#engines.values()) await (await engine)[Symbol.asyncDispose]();
    this.#engines.clear();
  }
}

export function openCaisson(options: CaissonOptions): Caisson {
  return new Caisson(options);
}

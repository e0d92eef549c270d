import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Diagnosis } from "./core/diagnosis.ts";
import type { Engine, EngineName, EngineProbe, SandboxLimits } from "./core/engine.ts";
import { AppError } from "./core/errors.ts";
import type { RootImage } from "./core/image.ts";
import { type EngineChoice, resolveSandboxLimits } from "./core/request.ts";
import { createOciEngine } from "./engines/oci/engine.ts";
import { gvisorEntries } from "./images/gvisor-compat.ts";
import { prepareHostImage } from "./images/host.ts";
import { Sandbox } from "./sandboxes/sandbox.ts";
import { WireConnection } from "./wire/connection.ts";

export interface CaissonOptions {
  /** The data folder. */
  home: string;
  /** The checkout or installation, whose .build holds the compiled programs. */
  root: string;
  /** Another guest than the one built here. */
  guestPath?: string;
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
  #image: Promise<RootImage> | undefined;

  constructor(options: CaissonOptions) {
    this.#options = options;
  }

  async createSandbox(options: CreateOptions = {}): Promise<Sandbox> {
    const limits = resolveSandboxLimits(options.limits ?? {});
    const engine = await this.#engine(await this.#choose(options.engine ?? "auto"));
    const { searchPath } = await this.#hostImage();
    const parts = {
      engine,
      attach: WireConnection.attach,
      environment: { PATH: searchPath, HOME: "/home/user", USER: "user", LANG: "C.UTF-8", TERM: "dumb" },
    };
    return Sandbox.create(parts, {
      limits,
      output: options.output ?? false,
      ...(options.inputFolder === undefined ? {} : { inputFolder: options.inputFolder }),
    });
  }

  async diagnose(): Promise<Diagnosis> {
    throw new Error("later");
  }

  async #choose(choice: EngineChoice): Promise<EngineName> {
    return choice === "auto" ? "gvisor" : choice;
  }

  #hostImage(): Promise<RootImage> {
    this.#image ??= prepareHostImage({ home: this.#options.home, nodePath: process.execPath });
    return this.#image;
  }

  #engine(name: EngineName): Promise<Engine> {
    const opened = this.#engines.get(name) ?? this.#open(name);
    this.#engines.set(name, opened);
    return opened;
  }

  async #open(name: EngineName): Promise<Engine> {
    const { home, root } = this.#options;
    const bin = join(root, ".build/bin");
    const image = await this.#hostImage();
    const extra = name === "gvisor" ? await gvisorEntries(home, join(bin, "caisson-compat")) : [];
    return createOciEngine({
      name,
      home,
      image: { ...image, entries: [...image.entries, ...extra] },
      guestPath: this.#options.guestPath ?? join(bin, "caisson-guest"),
      helperPath: join(bin, "caisson-helper"),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = await Promise.allSettled(this.#engines.values());
    this.#engines.clear();
    for (const engine of opened) if (engine.status === "fulfilled") await engine.value[Symbol.asyncDispose]();
  }
}

export function openCaisson(options: CaissonOptions): Caisson {
  return new Caisson(options);
}

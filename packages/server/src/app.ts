import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { emitWarning } from "node:process";
import type { Diagnosis } from "./core/diagnosis.ts";
import type {
  CreatedSandbox,
  Engine,
  EngineName,
  EngineProbe,
  KeptSandbox,
  SandboxLimits,
  WarmChoice,
} from "./core/engine.ts";
import { AppError, errnoOf, explainFullDisk } from "./core/errors.ts";
import type { Events } from "./core/event.ts";
import type { RootImage } from "./core/image.ts";
import { recordLimits, requestLimits, sandboxLimits } from "./core/limits.ts";
import type { Signer } from "./core/manifest.ts";
import type { BackgroundPolicy } from "./core/process.ts";
import { type EngineChoice, resolveSandboxLimits } from "./core/request.ts";
import type { RunLimits } from "./core/run.ts";
import type { RecordOptions, RunRecord } from "./core/run-record.ts";
import type { Adopt } from "./core/wire.ts";
import { checkHost } from "./engines/host-checks.ts";
import { createOciEngine, type OciEngineOptions } from "./engines/oci/engine.ts";
import { engineOfKept, listKept, noSandbox } from "./engines/oci/kept.ts";
import { probeOciEngine, recallProbe } from "./engines/oci/probe.ts";
import { EventBus } from "./events/event-bus.ts";
import { gvisorEntries } from "./images/gvisor-compat.ts";
import { prepareHostImage } from "./images/host.ts";
import { kernelEntries } from "./images/kernels.ts";
import { announce, Chronicle } from "./sandboxes/chronicle.ts";
import { Sandbox, type SandboxParts } from "./sandboxes/sandbox.ts";
import { RunLog } from "./store/run-log.ts";
import { openSigner } from "./store/signing-key.ts";
import { WireConnection } from "./wire/connection.ts";

export { plainTerminalOutput } from "./engines/host-terminal.ts";

/** Strongest first: what `auto` tries. */
const engineOrder: readonly EngineName[] = ["gvisor", "container"];

export interface CaissonOptions {
  /** The data folder. */
  home: string;
  /** The checkout or installation, whose .build holds the compiled programs. */
  root: string;
  /** Another guest than the one built here. */
  guestPath?: string;
  /** Runtimes that do not lie where system programs do. */
  runtimePaths?: Partial<Record<EngineName, string>>;
  /** For sandboxes and runs that ask for nothing else. */
  engine?: EngineChoice;
  limits?: Partial<SandboxLimits>;
  runLimits?: Partial<RunLimits>;
  listeners?: boolean;
  background?: BackgroundPolicy;
  /** Without it no run is recorded. */
  records?: RecordOptions;
  /** Told of what went wrong beside a call's own result; a warning of the process unless given. */
  onError?: (error: unknown) => void;
}

export interface CreateOptions {
  engine?: EngineChoice;
  limits?: Partial<SandboxLimits>;
  inputFolder?: string;
  output?: boolean;
  /** When interpreters start that wait for code; after the first code of their language unless told. Never with little memory. */
  warm?: WarmChoice;
  /** Whether code may open listeners inside (EXE-13). What is configured as refused stays so. */
  listeners?: boolean;
  /** Called, and waited for, once the sandbox is destroyed or detached. */
  afterLeave?: () => Promise<void>;
  /** Whether it outlives this process: it then ends only when it is destroyed. */
  keep?: boolean;
}

/** Caisson in this process: engines are opened at first use and closed with it. */
export class Caisson implements AsyncDisposable {
  readonly #options: CaissonOptions;
  readonly #events = new EventBus();
  readonly #records: RunLog | undefined;
  readonly #engines = new Map<EngineName, Promise<Engine>>();
  #signer: Promise<Signer> | undefined;
  readonly #sandboxes = new Set<Sandbox>();
  #image: Promise<RootImage> | undefined;

  constructor(options: CaissonOptions) {
    this.#options = options;
    const { home, records } = options;
    this.#records = records === undefined ? undefined : new RunLog(home, records);
  }

  get events(): Events {
    return this.#events;
  }

  /** The records of a sandbox's runs, oldest first; also of one that is destroyed, as long as retention keeps them. */
  async runs(sandboxId: string): Promise<RunRecord[]> {
    return (await this.#records?.list(sandboxId)) ?? [];
  }

  /** The last runs of all sandboxes, oldest first. */
  async recentRuns(): Promise<RunRecord[]> {
    return (await this.#records?.recent(recordLimits.recent)) ?? [];
  }

  /** The key that signs manifests here; made, and kept in the data folder, at first use. */
  signer(): Promise<Signer> {
    this.#signer ??= openSigner(this.#options.home).catch((error) => {
      this.#signer = undefined;
      throw error;
    });
    return this.#signer;
  }

  async createSandbox(options: CreateOptions = {}): Promise<Sandbox> {
    const limits = resolveSandboxLimits({ ...this.#options.limits, ...options.limits });
    try {
      return await this.#create(options, limits);
    } catch (error) {
      throw explainFullDisk(error, this.#options.home);
    }
  }

  async #create(options: CreateOptions, limits: SandboxLimits): Promise<Sandbox> {
    const engine = await this.#engine(await this.#choose(options.engine ?? this.#options.engine ?? "auto"));
    const parts = await this.#sandboxParts(engine, options.afterLeave);
    const sandbox = await Sandbox.create(parts, {
      limits,
      output: options.output ?? false,
      warm: limits.memoryBytes < sandboxLimits.warmMemoryBytes[engine.name] ? "never" : (options.warm ?? "first-use"),
      listeners: (this.#options.listeners ?? true) && (options.listeners ?? true),
      keep: options.keep ?? false,
      ...(options.inputFolder === undefined ? {} : { inputFolder: options.inputFolder }),
    });
    return this.#own(sandbox, "sandbox.created");
  }

  async #sandboxParts(engine: Engine, afterLeave?: CreateOptions["afterLeave"]): Promise<SandboxParts> {
    const { searchPath } = await this.#hostImage();
    const { records, background } = this.#options;
    return {
      engine,
      attach: (paths: CreatedSandbox, died: Promise<string>, adopt: Adopt) => WireConnection.attach(paths, died, adopt),
      environment: { PATH: searchPath, HOME: "/home/user", USER: "user", LANG: "C.UTF-8", TERM: "dumb" },
      runLimits: this.#options.runLimits ?? {},
      background: background ?? { allowed: true, mostMs: requestLimits.processTimeMs.max },
      chronicle: new Chronicle({
        engine: engine.name,
        events: this.#events,
        signer: () => this.signer(),
        ...(this.#records === undefined ? {} : { log: this.#records }),
        ...(records === undefined ? {} : { records }),
      }),
      ...(afterLeave === undefined ? {} : { afterLeave }),
    };
  }

  /** Becomes the owner of a kept sandbox; refused while another is. */
  async attachSandbox(id: string): Promise<Sandbox> {
    const engine = await engineOfKept(this.#options.home, id);
    if (engine === undefined) throw noSandbox(id);
    const parts = await this.#sandboxParts(await this.#engine(engine));
    return this.#own(await Sandbox.attach(parts, id), "sandbox.attached");
  }

  #own(sandbox: Sandbox, how: "sandbox.created" | "sandbox.attached"): Sandbox {
    this.#sandboxes.add(sandbox);
    void sandbox.left.then(() => this.#sandboxes.delete(sandbox));
    announce(sandbox, how, this.#events);
    return sandbox;
  }

  /** Those of the data folder, whoever owns them; ended ones too, until they are destroyed. */
  keptSandboxes(): Promise<KeptSandbox[]> {
    return listKept(this.#options.home, this.#onError);
  }

  /** By force: also what hangs, has ended, or has a damaged record. Refused while another process owns it. */
  async destroySandbox(id: string): Promise<void> {
    for (const sandbox of this.#sandboxes) if (sandbox.id === id) return sandbox.destroy();
    const name = await engineOfKept(this.#options.home, id).catch((error: unknown) => {
      if (error instanceof AppError && error.details?.damaged_record === true) return undefined;
      throw error;
    });
    const engine = await this.#engine(name ?? (await this.#choose("auto")));
    await engine.destroyKept(id);
  }

  readonly #onError = (error: unknown): void => {
    if (this.#options.onError !== undefined) this.#options.onError(error);
    else emitWarning(error instanceof Error ? error : String(error));
  };

  async diagnose(): Promise<Diagnosis> {
    const engines: EngineProbe[] = [];
    for (const name of engineOrder) engines.push(await probeOciEngine(await this.#engineOptions(name)));
    const chosen = engines.find((probe) => probe.usable)?.engine ?? null;
    return { engines, chosen, checks: await checkHost(this.#options.home) };
  }

  /** `auto` is the strongest engine that has really started a sandbox here. */
  async #choose(choice: EngineChoice): Promise<EngineName> {
    if (choice !== "auto") return choice;
    const failures: string[] = [];
    for (const name of engineOrder) {
      const probe = await recallProbe(await this.#engineOptions(name));
      if (probe.usable) return name;
      failures.push(`${name}: ${probe.detail}`);
    }
    throw new AppError("unsupported", `no engine works here (${failures.join("; ")})`, {
      hint: "caisson doctor says what to do",
    });
  }

  #hostImage(): Promise<RootImage> {
    this.#image ??= this.#prepare().catch((error) => {
      this.#image = undefined; // what is mended can be tried again
      throw error;
    });
    return this.#image;
  }

  async #prepare(): Promise<RootImage> {
    const { home } = this.#options;
    try {
      await mkdir(home, { recursive: true, mode: 0o711 });
    } catch (error) {
      throw new AppError("unavailable", `the data folder ${home} cannot be made: ${errnoOf(error)}`, {
        hint: "set CAISSON_HOME to a folder that you may write",
        cause: error,
      });
    }
    return prepareHostImage({ home, nodePath: process.execPath });
  }

  #engine(name: EngineName): Promise<Engine> {
    const known = this.#engines.get(name);
    if (known !== undefined) return known;
    const opened = this.#engineOptions(name).then(createOciEngine);
    this.#engines.set(name, opened);
    opened.catch(() => this.#engines.delete(name)); // what is mended can be tried again
    return opened;
  }

  async #engineOptions(name: EngineName): Promise<OciEngineOptions> {
    const { home, root, guestPath, runtimePaths } = this.#options;
    const bin = join(root, ".build/bin");
    const image = await this.#hostImage();
    const extra = name === "gvisor" ? await gvisorEntries(home, join(bin, "caisson-compat")) : [];
    const standby = { kind: "bind", path: "/.caisson/standby.so", source: join(bin, "caisson-standby") } as const;
    const runtimePath = runtimePaths?.[name];
    return {
      name,
      home,
      image: { ...image, entries: [...image.entries, ...kernelEntries(bin), standby, ...extra] },
      guestPath: guestPath ?? join(bin, "caisson-guest"),
      helperPath: join(bin, "caisson-helper"),
      onError: this.#onError,
      ...(runtimePath === undefined ? {} : { runtimePath }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([...this.#sandboxes].map((sandbox) => sandbox[Symbol.asyncDispose]()));
    this.#sandboxes.clear();
    const opened = await Promise.allSettled(this.#engines.values());
    this.#engines.clear();
    for (const engine of opened) if (engine.status === "fulfilled") await engine.value[Symbol.asyncDispose]();
    await this.#records?.flush();
    this.#events.close();
  }
}

export function openCaisson(options: CaissonOptions): Caisson {
  return new Caisson(options);
}

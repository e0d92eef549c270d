import { join } from "node:path";
import { emitWarning } from "node:process";
import { systemClock } from "./core/clock.ts";
import { defined } from "./core/defined.ts";
import type { Diagnosis } from "./core/diagnosis.ts";
import type { EgressPolicy } from "./core/egress.ts";
import { egressLimits } from "./core/egress-limits.ts";
import type { NetworkOptions, PolicyDraft, RuleDraft } from "./core/egress-policies.ts";
import type {
  CreatedSandbox,
  Engine,
  EngineName,
  KeptSandbox,
  SandboxLimits,
  StartOptions,
  WarmChoice,
} from "./core/engine.ts";
import type { EngineSource } from "./core/engine-source.ts";
import type { Errand, ErrandAnswer } from "./core/errand.ts";
import { AppError, explainFullDisk } from "./core/errors.ts";
import type { Events } from "./core/event.ts";
import { forkLimits } from "./core/fork-limits.ts";
import { recordLimits, requestLimits, sandboxLimits } from "./core/limits.ts";
import type { Signer } from "./core/manifest.ts";
import { Once } from "./core/once.ts";
import type { BackgroundPolicy } from "./core/process.ts";
import { type EngineChoice, resolveSandboxLimits } from "./core/request.ts";
import type { RunLimits } from "./core/run.ts";
import type { RecordOptions, RunRecord } from "./core/run-record.ts";
import { checkRange } from "./core/size.ts";
import type { Adopt } from "./core/wire.ts";
import { ValueRedactor } from "./dlp/redactor.ts";
import { EventLog } from "./egress/event-log.ts";
import type { Gate } from "./egress/gate.ts";
import { type GatesParts, openGate } from "./egress/gates.ts";
import { hostWorld } from "./egress/host-world.ts";
import { HostTrust } from "./egress/inspection/host-trust.ts";
import type { SandboxTrust } from "./egress/inspection/sandbox-trust.ts";
import { openPolicies, readPolicy, readRules } from "./egress/open-policies.ts";
import type { Policies } from "./egress/policies.ts";
import { proxyVariables } from "./egress/proxy-variables.ts";
import { registryRules } from "./egress/registry-rules.ts";
import { noSandbox } from "./engines/oci/kept.ts";
import { EventBus } from "./events/event-bus.ts";
import { realFolder } from "./host/folders.ts";
import { LocalEngines } from "./local-engines.ts";
import { announce, Chronicle, type SandboxBeginning } from "./sandboxes/chronicle.ts";
import type { ContextState } from "./sandboxes/code-context.ts";
import { forkSandbox } from "./sandboxes/fork.ts";
import { Sandbox } from "./sandboxes/sandbox.ts";
import type { SandboxParts } from "./sandboxes/sandbox-parts.ts";
import { RunLog } from "./store/run-log.ts";
import { openSigner } from "./store/signing-key.ts";
import { WireConnection } from "./wire/connection.ts";

export { plainTerminalOutput } from "./engines/host-terminal.ts";

export interface CaissonOptions {
  /** The data folder. */
  home: string;
  /** The checkout or installation, whose .build holds the compiled programs. */
  root: string;
  /** Another guest than the one built here. */
  guestPath?: string;
  /** Runtimes that do not lie where system programs do. */
  runtimePaths?: Partial<Record<EngineName, string>>;
  /** Engines of another process; of this one unless given. Closes with the Caisson. */
  engines?: EngineSource;
  /** For sandboxes and runs that ask for nothing else. */
  engine?: EngineChoice;
  limits?: Partial<SandboxLimits>;
  runLimits?: Partial<RunLimits>;
  listeners?: boolean;
  background?: BackgroundPolicy;
  /** What every sandbox may reach; nothing unless told. */
  network?: NetworkOptions;
  /** Without it no run is recorded. */
  records?: RecordOptions;
  /** Told of what went wrong beside a call's own result; a warning of the process unless given. */
  onError?: (error: unknown) => void;
}

interface Reachable {
  /** What this one may reach beside that, and what it may not; as long as this process has it. */
  network?: PolicyDraft;
}

interface AttachOptions extends Reachable {
  /** Values that nothing of it shows. */
  hide?: readonly Buffer[];
}

export interface ForkOptions {
  /** How many; one unless told. */
  count?: number;
  /** Whether they are a daemon's, as the original is. */
  fleet?: boolean;
}

export interface CreateOptions extends Reachable {
  engine?: EngineChoice;
  limits?: Partial<SandboxLimits>;
  inputFolder?: string;
  /** The same by the id that the configuration of an engine in another process gives it. */
  folder?: string;
  /** Likewise of a folder that its output is to be copied to. */
  outputFolder?: string;
  output?: boolean;
  /** When interpreters start that wait for code; after the first code of their language unless told. Never with little memory. */
  warm?: WarmChoice;
  /** Whether code may open listeners inside (EXE-13). What is configured as refused stays so. */
  listeners?: boolean;
  /** Called, and waited for, once the sandbox is destroyed or detached. */
  afterLeave?: () => Promise<void>;
  /** Whether it outlives this process: it then ends only when it is destroyed. */
  keep?: boolean;
  /** Whether it is one of a daemon's. */
  fleet?: boolean;
}

/** The sandboxes that this process owns. */
export class Caisson implements AsyncDisposable {
  readonly #options: CaissonOptions;
  readonly #events = new EventBus();
  readonly #records: RunLog | undefined;
  readonly #engines: EngineSource;
  readonly #signer = new Once<Signer>();
  readonly #policies = new Once<Policies>();
  #way: Omit<GatesParts, "policies">;
  readonly #sandboxes = new Set<Sandbox>();
  readonly #gates = new Map<string, Gate>();

  constructor(options: CaissonOptions) {
    this.#options = options;
    const { home, root, records, guestPath, runtimePaths } = options;
    this.#engines =
      options.engines ??
      new LocalEngines({
        home,
        bin: join(root, ".build/bin"),
        onError: this.#onError,
        ...(guestPath === undefined ? {} : { guestPath }),
        ...(runtimePaths === undefined ? {} : { runtimePaths }),
      });
    this.#records = records === undefined ? undefined : new RunLog(home, records);
    this.#way = {
      log: new EventLog((happening) => this.#events.emit(happening)),
      world: hostWorld(options.network?.dnsServers),
      trust: new HostTrust(options.network?.caFile === undefined ? [] : [options.network.caFile]),
      clock: systemClock,
      onError: this.#onError,
    };
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
    return this.#signer.get(() => openSigner(this.#options.home));
  }

  /** Says who writes down what sandboxes try to reach, who is asked about it, and whose secrets go out with it; for sandboxes that come after. */
  guard(way: Partial<Pick<GatesParts, "log" | "asking" | "world" | "secrets" | "downloads">>): void {
    this.#way = { ...this.#way, ...way };
  }

  /** What its sandboxes may reach. */
  policies(): Promise<Policies> {
    return this.#policies.get(() => openPolicies(this.#options.network));
  }

  /** Lets a sandbox reach the registries of this machine until it is disposed of. */
  async openRegistry(
    sandboxId: string,
    hosts: readonly RuleDraft[],
    { keepsFiles }: { keepsFiles: boolean },
  ): Promise<Disposable> {
    const keeps = keepsFiles && this.#way.downloads !== undefined;
    const allow = await registryRules(this.#way.world, hosts, keeps);
    return (await this.policies()).open(sandboxId, "registry", { allow });
  }

  /** Fetches something on behalf of a sandbox whose wire this process has: by its policy, and on its account. */
  async errand(sandboxId: string, errand: Errand): Promise<ErrandAnswer> {
    const gate = this.#gates.get(sandboxId);
    if (gate === undefined) throw new AppError("unavailable", `${sandboxId} is not running here`);
    return gate.run(errand);
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
    const policy = await this.#readPolicy(options.network ?? {});
    const name = await this.#engines.choose(options.engine ?? this.#options.engine ?? "auto");
    const engine = await this.#engines.open(name);
    const parts = await this.#sandboxParts(engine, options.afterLeave);
    const sandbox = await Sandbox.create(parts, {
      limits,
      output: options.output ?? false,
      warm: limits.memoryBytes < sandboxLimits.warmMemoryBytes[engine.name] ? "never" : (options.warm ?? "first-use"),
      listeners: (this.#options.listeners ?? true) && (options.listeners ?? true),
      keep: options.keep ?? false,
      ...(options.fleet === undefined ? {} : { fleet: options.fleet }),
      ...(options.inputFolder === undefined ? {} : { inputFolder: await realFolder(options.inputFolder) }),
      ...defined({ folder: options.folder, outputFolder: options.outputFolder }),
    });
    if (options.fleet !== true) await this.#admit(sandbox, policy);
    return this.#own(sandbox, "sandbox.created");
  }

  async #sandboxParts(engine: Engine, afterLeave?: CreateOptions["afterLeave"]): Promise<SandboxParts> {
    const searchPath = await this.#engines.searchPath();
    const policies = await this.policies();
    const { background } = this.#options;
    const redactor = new ValueRedactor();
    let trust: SandboxTrust | undefined;
    const records = this.#options.records && {
      ...this.#options.records,
      redact: (text: string) => redactor.text(this.#options.records?.redact?.(text) ?? text),
    };
    return {
      engine,
      attach: (paths: CreatedSandbox, died: Promise<string>, adopt: Adopt) => WireConnection.attach(paths, died, adopt),
      openGate: async (created, wire) => {
        const gate = await openGate({ ...this.#way, policies }, created, wire);
        trust = gate.trust;
        this.#gates.set(created.id, gate);
        void wire.lost.then(() => this.#gates.get(created.id) === gate && this.#gates.delete(created.id));
      },
      trust: () => trust,
      environment: {
        ...{ PATH: searchPath, HOME: "/home/user", USER: "user", LANG: "C.UTF-8", TERM: "dumb" },
        ...proxyVariables,
      },
      runLimits: this.#options.runLimits ?? {},
      redactor,
      openRun: async (id, domains) => policies.open(id, "run", { allow: await readRules(domains) }),
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

  async #readPolicy(network: PolicyDraft): Promise<EgressPolicy> {
    const policy = await readPolicy(network, egressLimits.sandboxRules.max);
    (await this.policies()).checkEnabled(policy.allow);
    return policy;
  }

  /** What a fleet has was admitted by it, and stays so between two handles. */
  async #admit(sandbox: Sandbox, policy: EgressPolicy): Promise<void> {
    const policies = await this.policies();
    if (policies.sandbox(sandbox.id) !== undefined) return;
    policies.admit(sandbox.id, "default", { sandbox: policy });
    void sandbox.left.then(() => policies.forget(sandbox.id));
  }

  /** Becomes the owner of a kept sandbox; refused while another is. What its processes wrote meanwhile comes without the values to hide. */
  async attachSandbox(id: string, { hide = [], network = {} }: AttachOptions = {}): Promise<Sandbox> {
    const policy = await this.#readPolicy(network);
    const parts = await this.#sandboxParts(await this.#engineOf(id));
    parts.redactor.hide(hide);
    const sandbox = await Sandbox.attach(parts, id);
    await this.#admit(sandbox, policy);
    return this.#own(sandbox, "sandbox.attached");
  }

  /** Runs a kept sandbox again that was stopped or has ended, and becomes its owner. */
  async startSandbox(id: string, { network = {}, ...options }: StartOptions & Reachable = {}): Promise<Sandbox> {
    const policy = await this.#readPolicy(network);
    const parts = await this.#sandboxParts(await this.#engineOf(id));
    const sandbox = await Sandbox.start(parts, id, options);
    await this.#admit(sandbox, policy);
    return this.#own(sandbox, "sandbox.started");
  }

  /** Copies of a running gVisor sandbox, with its memory: what runs in it runs on in each. */
  async forkSandbox(original: Sandbox, { count = 1, fleet = false }: ForkOptions = {}): Promise<Sandbox[]> {
    const engine = await this.#engines.open(original.engine);
    checkRange(count, forkLimits.copies, "count", String);
    const take = async (created: CreatedSandbox, contexts: readonly ContextState[]) => {
      const parts = await this.#sandboxParts(engine);
      parts.redactor.hide(original.redactor.hidden);
      return Sandbox.copy(parts, created, contexts);
    };
    const copies = await forkSandbox(original, { engine, ownerFolder: original.ownerFolder, take }, count);
    const policy = await this.#readPolicy({});
    for (const copy of copies) {
      if (!fleet) await this.#admit(copy, policy);
      this.#own(copy, "sandbox.created");
    }
    return copies;
  }

  /** Ends all that runs in a kept sandbox; its workspace stays. Refused while another process owns it. */
  async stopSandbox(id: string): Promise<void> {
    const own = this.#find(id);
    await (own === undefined ? (await this.#engineOf(id)).stop(id) : own.stop());
  }

  /** As stopSandbox, and its workspace is emptied. */
  async resetSandbox(id: string): Promise<void> {
    const own = this.#find(id);
    await (own === undefined ? (await this.#engineOf(id)).reset(id) : own.reset());
  }

  async #engineOf(id: string): Promise<Engine> {
    const name = await this.#engines.engineOfKept(id);
    if (name === undefined) throw noSandbox(id);
    return this.#engines.open(name);
  }

  #find(id: string): Sandbox | undefined {
    for (const sandbox of this.#sandboxes) if (sandbox.id === id) return sandbox;
    return undefined;
  }

  #own(sandbox: Sandbox, how: SandboxBeginning): Sandbox {
    this.#sandboxes.add(sandbox);
    void sandbox.left.then(() => this.#sandboxes.delete(sandbox));
    announce(sandbox, how, this.#events);
    return sandbox;
  }

  /** Those of the data folder, whoever owns them; ended ones too, until they are destroyed. */
  keptSandboxes(): Promise<KeptSandbox[]> {
    return this.#engines.kept();
  }

  /** By force: also what hangs, has ended, or has a damaged record. Refused while another process owns it. */
  async destroySandbox(id: string): Promise<void> {
    const own = this.#find(id);
    if (own !== undefined) return own.destroy();
    const name = await this.#engines.engineOfKept(id).catch((error: unknown) => {
      if (error instanceof AppError && error.details?.damaged_record === true) return undefined;
      throw error;
    });
    const engine = await this.#engines.open(name ?? (await this.#engines.choose("auto")));
    await engine.destroyKept(id);
  }

  readonly #onError = (error: unknown): void => {
    if (this.#options.onError !== undefined) this.#options.onError(error);
    else emitWarning(error instanceof Error ? error : String(error));
  };

  async diagnose(): Promise<Diagnosis> {
    const engines = await this.#engines.probe();
    const chosen = engines.find((probe) => probe.usable)?.engine ?? null;
    return { engines, chosen, checks: await this.#engines.checkHost() };
  }

  /** `auto` is the strongest engine that has really started a sandbox here. */
  chooseEngine(choice: EngineChoice): Promise<EngineName> {
    return this.#engines.choose(choice);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([...this.#sandboxes].map((sandbox) => sandbox[Symbol.asyncDispose]()));
    this.#sandboxes.clear();
    await this.#engines[Symbol.asyncDispose]();
    await this.#records?.flush();
    this.#events.close();
  }
}

export function openCaisson(options: CaissonOptions): Caisson {
  return new Caisson(options);
}

import { join } from "node:path";
import { emitWarning } from "node:process";
import type { CaissonParts } from "./caisson-parts.ts";
import {
  checkAttachOptions,
  checkStartOptions,
  type OtherNames,
  readSandboxOptions,
} from "./config/library-options.ts";
import type { AttachOptions, CreateOptions, ForkOptions } from "./core/app-options.ts";
import type { Diagnosis } from "./core/diagnosis.ts";
import type { DiskRoom } from "./core/disk-room.ts";
import type { EgressPolicy } from "./core/egress.ts";
import type { PolicyDraft, RuleDraft } from "./core/egress-policies.ts";
import type { CreatedSandbox, Engine, EngineName, KeptSandbox, SandboxLimits, StartOptions } from "./core/engine.ts";
import type { EngineSource } from "./core/engine-source.ts";
import type { Errand, ErrandResponse } from "./core/errand.ts";
import { AppError, explainFullDisk } from "./core/errors.ts";
import type { ImageRecord } from "./core/image-record.ts";
import type { Events, Happening } from "./core/journal.ts";
import type { LayerId, LayerInfo } from "./core/layer.ts";
import type { RegistryReach } from "./core/layer-builder.ts";
import { recordLimits, requestLimits, sandboxLimits } from "./core/limits.ts";
import type { Signer } from "./core/manifest.ts";
import { noRefusals } from "./core/network-refusal.ts";
import type { BackgroundPolicy } from "./core/process.ts";
import type { RegistryWay } from "./core/registry-way.ts";
import { type EngineChoice, resolveSandboxLimits } from "./core/request.ts";
import type { RunKeeper } from "./core/run-observer.ts";
import type { RecordOptions, RunRecord } from "./core/run-record.ts";
import type { Adopt } from "./core/wire.ts";
import { ValueRedactor } from "./dlp/redactor.ts";
import type { ActivePolicies } from "./egress/active-policies.ts";
import { admitAlone, admitSandbox, readSandboxPolicy } from "./egress/admit-sandbox.ts";
import { EventLog } from "./egress/event-log.ts";
import type { Gate } from "./egress/gate.ts";
import { type GatesParts, openGate } from "./egress/gates.ts";
import { hostWorld } from "./egress/host-world.ts";
import type { Notice } from "./egress/inspection/credentials.ts";
import { UpstreamTrust } from "./egress/inspection/upstream-trust.ts";
import { openPolicies, readRules } from "./egress/open-policies.ts";
import { proxyVariables } from "./egress/proxy-variables.ts";
import { registryRules } from "./egress/registry-rules.ts";
import { openRegistryWay } from "./egress/registry-way.ts";
import { LocalEngines } from "./engines/local-engines.ts";
import { noSandbox } from "./engines/oci/kept.ts";
import { MemoryJournal } from "./journal/memory-journal.ts";
import { systemClock } from "./lib/clock.ts";
import { defined } from "./lib/defined.ts";
import { Once } from "./lib/once.ts";
import { announce, Chronicle, type SandboxBeginning } from "./sandboxes/chronicle.ts";
import { Copies } from "./sandboxes/copies.ts";
import { mayWait } from "./sandboxes/may-wait.ts";
import { defaultNamespace, Namespaces } from "./sandboxes/namespaces.ts";
import { Sandbox } from "./sandboxes/sandbox.ts";
import type { SandboxParts } from "./sandboxes/sandbox-parts.ts";
import { surroundings, usualSearchPath } from "./sandboxes/surroundings.ts";
import { RunLog } from "./store/run-log.ts";
import { openSigner } from "./store/signing-key.ts";
import { realFolder } from "./supervision/folders.ts";
import { WireConnection } from "./wire/connection.ts";

export type { CaissonOptions, CreateOptions, ForkOptions } from "./core/app-options.ts";
export { plainTerminalOutput } from "./engines/plain-terminal.ts";

/** The sandboxes that this process owns. */
export class Caisson implements AsyncDisposable {
  readonly #options: CaissonParts;
  readonly #namespaces = new Namespaces();
  readonly #events = new MemoryJournal((id) => this.#namespaces.of(id));
  readonly #log: RunLog | undefined;
  readonly #engines: EngineSource;
  readonly #signer = new Once<Signer>();
  readonly #policies = new Once<ActivePolicies>();
  readonly #way: Omit<GatesParts, "policies">;
  readonly #sandboxes = new Set<Sandbox>();
  readonly #gates = new Map<string, Gate>();
  /** Whether code may listen in sandboxes that start now (EXE-13). */
  readonly listeners: boolean;
  readonly background: BackgroundPolicy;
  readonly copies: Copies;
  /** Undefined: no records of runs are kept. */
  readonly retention: RecordOptions | undefined;

  constructor(options: CaissonParts) {
    this.#options = options;
    const { home, root, records, guestPath, runtimePaths, onLaunch } = options;
    const own = { home, bin: join(root, ".build/bin"), onError: this.#onError };
    const engines = () => new LocalEngines({ ...own, ...defined({ guestPath, runtimePaths, onLaunch }) });
    this.#engines = options.engines ?? engines();
    this.listeners = options.listeners ?? true;
    this.background = options.background ?? { allowed: true, mostMs: requestLimits.processTimeMs.max };
    this.copies = new Copies({
      open: (name) => this.#engines.open(name),
      partsOf: (engine, rooted) => this.#sandboxParts(engine, rooted),
      own: (sandbox) => this.#own(sandbox, "sandbox.created"),
      listeners: this.listeners,
    });
    this.retention = records;
    this.#log = records === undefined ? undefined : new RunLog(home, records);
    this.#way = {
      log: new EventLog((happening) => this.#events.record(happening)),
      world: options.world ?? hostWorld(options.network?.dnsServers),
      trust: new UpstreamTrust(options.network?.caFile === undefined ? [] : [options.network.caFile]),
      clock: systemClock,
      onError: this.#onError,
    };
  }

  get events(): Events {
    return this.#events;
  }

  /** The records of a sandbox's runs, oldest first; also of one that is destroyed, as long as retention keeps them. */
  async runs(sandboxId: string): Promise<RunRecord[]> {
    return (await (await this.#keeper())?.list(sandboxId)) ?? [];
  }

  /** The last runs of all sandboxes, oldest first. */
  async recentRuns(): Promise<RunRecord[]> {
    return (await this.#log?.recent(recordLimits.recent)) ?? [];
  }

  /** The key that signs manifests here; made, and kept in the data folder, at first use. */
  signer(): Promise<Signer> {
    return this.#signer.get(() => openSigner(this.#options.home));
  }

  async #keeper(): Promise<RunKeeper | undefined> {
    return (await this.#options.oversight)?.keeper ?? this.#log;
  }

  async #imageOf(root: LayerId | undefined): Promise<ImageRecord | undefined> {
    return root === undefined ? undefined : (await this.#options.oversight)?.imageOf?.(root);
  }

  /** What its sandboxes may reach. */
  policies(): Promise<ActivePolicies> {
    return this.#policies.get(async () => this.#options.policies ?? openPolicies(this.#options.network));
  }

  /** Lets a sandbox reach the registries of this machine until it is disposed of. */
  async openRegistry(
    sandboxId: string,
    hosts: readonly RuleDraft[],
    { keepsFiles, ...how }: RegistryReach,
  ): Promise<Disposable> {
    const keeps = keepsFiles && (await this.#options.oversight)?.downloads !== undefined;
    const allow = await registryRules(this.#way.world, hosts, { ...how, keepsFiles: keeps });
    return (await this.policies()).open(sandboxId, "registry", { allow });
  }

  /** The way to registries of images; those of this machine and its networks are reached as far as they are named here. */
  registryWay(registries: readonly string[]): RegistryWay {
    return openRegistryWay({ world: this.#way.world, trust: this.#way.trust, registries });
  }

  /** Fetches something on behalf of a sandbox whose wire this process has: by its policy, and on its account. */
  async errand(sandboxId: string, errand: Errand): Promise<ErrandResponse> {
    const gate = this.#gates.get(sandboxId);
    if (gate === undefined) throw new AppError("unavailable", `${sandboxId} is not running here`);
    return gate.run(errand);
  }

  async createSandbox(options: CreateOptions & OtherNames = {}): Promise<Sandbox> {
    const asked = readSandboxOptions(options);
    const limits = resolveSandboxLimits({ ...this.#options.limits, ...asked.limits });
    try {
      return await this.#create(asked, limits);
    } catch (error) {
      throw explainFullDisk(error, this.#options.home);
    }
  }

  async #create(options: CreateOptions, limits: SandboxLimits): Promise<Sandbox> {
    const policy = await this.#readPolicy(options.network ?? {});
    const name = await this.#engines.choose(options.engine ?? this.#options.engine ?? "auto");
    const engine = await this.#engines.open(name);
    const parts = await this.#sandboxParts(engine, options);
    const sandbox = await Sandbox.create(parts, {
      limits,
      warm: (await this.#mayWait(engine, limits, options.root)) ? (options.warm ?? "first-use") : "never",
      listeners: this.listeners && (options.listeners ?? true),
      keep: options.keep ?? false,
      ...(options.inputFolder === undefined ? {} : { inputFolder: await realFolder(options.inputFolder) }),
      ...defined({
        root: options.root,
        base: options.base,
        folder: options.folder,
        ...{ outputFolder: options.outputFolder, fleet: options.fleet },
      }),
    });
    if (options.alone === true) admitAlone(await this.policies(), sandbox);
    else if (options.fleet !== true) await this.#admit(sandbox, policy);
    if (options.fleet !== true) this.#namespaces.join(sandbox, options.namespace ?? defaultNamespace);
    return this.#own(sandbox, "sandbox.created");
  }

  /** Runs in sandboxes of the namespace find the value in this variable, masked in all that leaves them. Kept in memory. */
  vault_add(namespace: string, name: string, value: string): void {
    this.#namespaces.add(namespace, name, value);
  }

  /** Interpreters that wait take memory, and trust in what they are. */
  async #mayWait(engine: Engine, { memoryBytes }: SandboxLimits, root: LayerId | undefined): Promise<boolean> {
    if (memoryBytes < sandboxLimits.warmMemoryBytes[engine.name]) return false;
    const image = await this.#imageOf(root);
    return root === undefined || (image !== undefined && mayWait(image));
  }

  async #sandboxParts(
    engine: Engine,
    { afterLeave, root }: Pick<CreateOptions, "afterLeave" | "root"> = {},
  ): Promise<SandboxParts> {
    const searchPath = root === undefined ? await this.#engines.searchPath() : usualSearchPath;
    const image = await this.#imageOf(root);
    const policies = await this.policies();
    const redactor = new ValueRedactor();
    let own: Gate | undefined;
    const redact = (text: string) => redactor.text(this.retention?.redact?.(text) ?? text);
    const records = this.retention && { ...this.retention, redact };
    return {
      engine,
      attach: (paths: CreatedSandbox, died: Promise<string>, adopt: Adopt) => WireConnection.attach(paths, died, adopt),
      openGate: async (created, wire) => {
        const { log = this.#way.log, ...guard } = (await this.#options.oversight) ?? {};
        const { id: sandboxId, ownerFolder } = created;
        const record = (news: Happening) => this.#events.record({ ...news, sandboxId });
        redactor.watch(() => record({ type: "secret.probing", data: {} }));
        const notice: Notice = (secret, value, host) =>
          redactor.notice(value, () => record({ type: "secret.echoed", data: { secret, host } }));
        const gate = await openGate(
          { ...this.#way, ...guard, log, policies },
          { id: sandboxId, ownerFolder, notice, redactor },
          wire,
        );
        own = gate;
        this.#gates.set(created.id, gate);
        void wire.lost.then(() => this.#gates.get(created.id) === gate && this.#gates.delete(created.id));
      },
      trust: () => own?.trust,
      watchRefusals: () => own?.refusals.watch() ?? noRefusals,
      ...surroundings(searchPath, image?.config, proxyVariables),
      runLimits: this.#options.runLimits ?? {},
      redactor,
      openRun: async (id, domains) => policies.open(id, "run", { allow: await readRules(domains) }),
      background: this.background,
      chronicle: new Chronicle({
        engine: engine.name,
        events: this.#events,
        signer: () => this.signer(),
        keeper: () => this.#keeper(),
        ...defined({ records }),
      }),
      ...(afterLeave === undefined ? {} : { afterLeave }),
    };
  }

  async #readPolicy(network: PolicyDraft): Promise<EgressPolicy> {
    return readSandboxPolicy(await this.policies(), network);
  }

  async #admit(sandbox: Sandbox, policy: EgressPolicy): Promise<void> {
    admitSandbox(await this.policies(), sandbox, policy);
  }

  /** Becomes the owner of a kept sandbox; refused while another is. What its processes wrote meanwhile comes without the values to hide. */
  async attachSandbox(id: string, options: AttachOptions = {}): Promise<Sandbox> {
    checkAttachOptions(options);
    const { hide = [], network = {}, namespace = defaultNamespace, ...rooted } = options;
    const policy = await this.#readPolicy(network);
    const parts = await this.#sandboxParts(await this.#engineOf(id), rooted);
    parts.redactor.hide(hide);
    const sandbox = await Sandbox.attach(parts, id);
    await this.#admit(sandbox, policy);
    this.#namespaces.join(sandbox, namespace);
    return this.#own(sandbox, "sandbox.attached");
  }

  /** Runs a kept sandbox again that was stopped or has ended, and becomes its owner. */
  async startSandbox(id: string, given: StartOptions & Omit<AttachOptions, "hide"> = {}): Promise<Sandbox> {
    checkStartOptions(given);
    const { network = {}, root, namespace = defaultNamespace, ...options } = given;
    const policy = await this.#readPolicy(network);
    const parts = await this.#sandboxParts(await this.#engineOf(id), defined({ root }));
    const listeners = this.listeners && (options.listeners ?? true);
    const sandbox = await Sandbox.start(parts, id, { ...options, ...defined({ root }), listeners });
    await this.#admit(sandbox, policy);
    this.#namespaces.join(sandbox, namespace);
    return this.#own(sandbox, "sandbox.started");
  }

  /** Copies of a running gVisor sandbox, with its memory: what runs in it runs on in each. */
  async forkSandbox(original: Sandbox, options: ForkOptions = {}): Promise<Sandbox[]> {
    const copies = await this.copies.fork(original, options);
    const policy = await this.#readPolicy({});
    for (const copy of copies) await this.#admit(copy, policy);
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

  /** The disk that sandboxes of the data folder share. */
  async diskRoom(): Promise<DiskRoom> {
    const name = await this.#engines.choose(this.#options.engine ?? "auto"); // the one that is open: a probe takes long
    return (await this.#engines.open(name)).diskRoom();
  }

  /** Frozen volumes of the data folder. */
  async layers(): Promise<LayerInfo[]> {
    return (await this.#someEngine()).layers();
  }

  /** Refused while a sandbox or another layer needs it. */
  async removeLayer(id: LayerId): Promise<void> {
    await (await this.#someEngine()).removeLayer(id);
  }

  /** Unmounts a layer until a sandbox needs it again. */
  async restLayer(engine: EngineName, id: LayerId): Promise<void> {
    await (await this.#engines.open(engine)).restLayer(id);
  }

  async #someEngine(): Promise<Engine> {
    return this.#engines.open(await this.#engines.choose("auto"));
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
    await this.#log?.flush();
    this.#events.close();
  }
}

export function openCaisson(options: CaissonParts): Caisson {
  return new Caisson(options);
}

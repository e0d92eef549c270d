import type { Command } from "../../core/command.ts";
import type { CommandHandle } from "../../core/command-handle.ts";
import type { SandboxStats } from "../../core/engine.ts";
import { AppError } from "../../core/errors.ts";
import type {
  Created,
  CreateRequest,
  Fleet,
  JobOptions,
  PoolStatus,
  QueuedJob,
  QueueStatus,
  SandboxChanges,
  ServeOptions,
  TemplateBench,
} from "../../core/fleet.ts";
import type { Fork, ForkRequest } from "../../core/fork.ts";
import type { EnsureImage } from "../../core/image-record.ts";
import type { LayerId } from "../../core/layer.ts";
import type { Caller } from "../../core/principal.ts";
import type { SandboxQuery, SandboxRecord } from "../../core/sandbox-record.ts";
import { templateLimits } from "../../core/template-limits.ts";
import { cleanError } from "../../dlp/clean-error.ts";
import type { Sandbox } from "../sandbox.ts";
import { hostAlone, noEgress, noSnapshots, noTemplates } from "./absent.ts";
import { changeMember } from "./change-member.ts";
import { checkMayStart } from "./check-may-start.ts";
import { EngineChooser } from "./choice.ts";
import { type CreationParts, createMember } from "./creation.ts";
import { openShares } from "./disk-shares.ts";
import type { FleetParts } from "./fleet-parts.ts";
import { forkMember } from "./forking.ts";
import { runJob } from "./jobs.ts";
import { noKeys } from "./keys.ts";
import { Lifecycle } from "./lifecycle.ts";
import { fleetLimits } from "./limits.ts";
import type { Member } from "./member.ts";
import { Pools } from "./pools.ts";
import { Provisioner } from "./provisioner.ts";
import { JobQueue } from "./queue.ts";
import { recover } from "./recover.ts";
import { refreshSecrets } from "./refresh-secrets.ts";
import { Registry } from "./registry.ts";
import { Removals } from "./removals.ts";
import { allowedWarmUp, type CheckedRequest, type ResolveParts, resolveRequest } from "./resolve-request.ts";
import { SandboxCheckpoints } from "./sandbox-checkpoints.ts";
import { openSavedMemory, type SavedMemory } from "./saved-memory.ts";
import { Seeds } from "./seeds.ts";
import { serveMember } from "./serve-member.ts";
import { isThere, Sessions } from "./sessions.ts";
import { eachOf, Slots } from "./slots.ts";
import { templateBench } from "./template-bench.ts";
import { TemplatePools } from "./template-pools.ts";
import { beginTemplate } from "./template-start.ts";
import { Timers } from "./timers.ts";
import { Uses } from "./uses.ts";

/** Every sandbox of a daemon. Records live in memory, and in the store before anybody hears of them. */
export class SandboxFleet implements Fleet<Sandbox>, AsyncDisposable {
  readonly #parts: FleetParts;
  readonly #registry: Registry;
  readonly #sessions = new Sessions();
  readonly #queue: JobQueue;
  readonly #pools: Pools;
  readonly #creation: CreationParts;
  readonly #lifecycle: Lifecycle;
  readonly #removals: Removals;
  #opening: Promise<void> = Promise.resolve();
  readonly uses = new Uses();
  readonly #timers: Timers;
  readonly checkpoints: SandboxCheckpoints;
  readonly #memory: SavedMemory;
  readonly #resolveParts: ResolveParts;
  readonly bench: TemplateBench;

  private constructor(parts: FleetParts) {
    const { maker, clock, settings, records, onError } = parts;
    this.#parts = parts;
    this.#registry = new Registry(parts.egress);
    const provisioner = new Provisioner(parts.secrets);
    this.#removals = new Removals({ maker, records, provisioner, clock });
    const starts = new Slots(settings.startsAtOnce);
    const book = { records, journal: parts.journal };
    const removals = this.#removals;
    const { templates = noTemplates, egress = noEgress, images = hostAlone } = parts;
    this.#resolveParts = { settings, egress, images, templates };
    this.#lifecycle = new Lifecycle({
      maker,
      book,
      removals,
      provisioner,
      starts,
      keep: parts.keep,
      warmUpOf: (id) => allowedWarmUp(settings.commands, templates.warmUpOf(id)),
      onError,
    });
    this.#queue = new JobQueue({
      maxConcurrent: settings.maxConcurrent,
      monotonicMs: () => clock.monotonicMs(),
      isShared: () => this.#registry.namespaces > 1,
      onFull: (namespace, waiting) => {
        const full = { type: "queue.backpressure", by: "system", namespace, data: { waiting } } as const;
        parts.journal.record(full).catch(onError);
      },
    });
    const discard = (sandbox: Sandbox) => removals.remove(sandbox.id, sandbox);
    const lastUseMs = () => this.uses.lastMs;
    this.#pools = new Pools({ maker, starts, clock, lastUseMs, discard, onError }, settings);
    const { secrets: keys = noKeys } = parts;
    this.#memory = openSavedMemory(maker.copies, parts.checkpoints, keys);
    const { seeds: kept } = this.#memory;
    const seeds = new Seeds({ maker, removals, starts, kept, room: templateLimits.seeds, onError });
    const beginning = { seeds, starts, pools: this.#pools, maker, removals, onError };
    this.#creation = {
      maker,
      engines: new EngineChooser(maker),
      pools: this.#pools,
      templatePools: new TemplatePools({
        pools: this.#pools,
        make: (template) => beginTemplate(beginning, { ...template, warm: "first-use", outputFolder: null }, template),
        warmUpOf: templates.warmUpOf,
        onError,
      }),
      queue: this.#queue,
      starts,
      registry: this.#registry,
      shares: openShares(parts, this.#registry),
      lifecycle: this.#lifecycle,
      book,
      removals,
      provisioner,
      clock,
      restore: parts.restore ?? noSnapshots,
      lendFiles: parts.lendFiles ?? noSnapshots,
      seeds,
      maxLifetimeMs: settings.maxLifetimeMs,
      egress: parts.egress,
      onError,
    };
    this.checkpoints = new SandboxCheckpoints({ creation: this.#creation, ...this.#memory });
    this.bench = templateBench(this.#creation);
    this.#timers = new Timers({
      registry: this.#registry,
      records,
      clock,
      expire: (member, due) => this.#expire(member, due),
      removeDue: () => this.#removeAll(removals.due()),
      onError,
    });
  }

  /** Takes up what the last daemon left, then fills the pool that most will ask for. */
  static async open(parts: FleetParts): Promise<SandboxFleet> {
    const fleet = new SandboxFleet(parts);
    const { strays } = await recover({ ...fleet.#creation, records: parts.records });
    const sweep = () => fleet.#memory.swept().catch(parts.onError);
    fleet.#opening = fleet
      .#removeAll(strays)
      .then(sweep)
      .then(() => fleet.#openPool())
      .catch(parts.onError);
    fleet.#timers.start();
    return fleet;
  }

  /** Resolves when what the last daemon left behind is gone. */
  get swept(): Promise<void> {
    return this.#opening;
  }

  /** Waits for `ensure` where the image is missing; without it a sandbox of such an image is refused. */
  async create(caller: Caller, request: CreateRequest, ensure: EnsureImage = () => undefined): Promise<Created> {
    this.uses.checkOpen();
    const resolved = resolveRequest(caller, request, this.#resolveParts);
    const { sessionKey } = resolved;
    if (sessionKey === null) return this.#create(caller, resolved, ensure);
    const { namespace } = caller.principal;
    return this.#sessions.join(caller, sessionKey, async () => {
      const member = this.#registry.bySession(namespace, sessionKey);
      const wake = (id: string) => this.use(caller, id, async () => undefined);
      if (member !== undefined && (await isThere(wake(member.record.id))))
        return { record: member.record, isNew: false };
      return this.#create(caller, resolved, ensure);
    });
  }

  /** Its image is made last: a request that is refused for its limits or its namespace's share begins no build and no pull. */
  async #create(caller: Caller, { chooseImage, ...checked }: CheckedRequest, ensure: EnsureImage): Promise<Created> {
    const { namespace } = caller.principal;
    using _place = caller.serverId === undefined ? undefined : this.#registry.reserveForServer();
    if (caller.serverId === undefined) this.#registry.reserve(namespace);
    try {
      using _share = await this.#creation.shares.reserve(namespace, checked.limits.storageBytes);
      const resolved = { ...checked, image: await chooseImage(ensure) };
      using _use = this.uses.open();
      const { record } = await createMember(this.#creation, caller, resolved);
      return { record, isNew: true };
    } finally {
      if (caller.serverId === undefined) this.#registry.release(namespace);
    }
  }

  async get(caller: Caller, id: string): Promise<SandboxRecord> {
    return this.#registry.find(caller, id).record;
  }

  async list(caller: Caller, query: Omit<SandboxQuery, "namespace">): Promise<SandboxRecord[]> {
    return this.#registry.list(caller, query);
  }

  async change(caller: Caller, id: string, changes: SandboxChanges): Promise<SandboxRecord> {
    this.uses.checkOpen();
    const member = this.#registry.find(caller, id);
    await changeMember({ ...this.#creation, settings: this.#parts.settings }, caller, member, changes);
    return member.record;
  }

  async start(caller: Caller, id: string): Promise<SandboxRecord> {
    await this.use(caller, id, async () => undefined);
    return this.#registry.find(caller, id).record;
  }

  async serve(caller: Caller, id: string, options: ServeOptions): Promise<SandboxRecord> {
    this.uses.checkOpen();
    const member = this.#registry.find(caller, id);
    await serveMember(this.#creation, caller, member, options);
    await this.use(caller, id, async () => undefined);
    return member.record;
  }

  ofServers(): SandboxRecord[] {
    return [...this.#registry.all].map(({ record }) => record).filter(({ serverId }) => serverId !== null);
  }

  stop(caller: Caller, id: string): Promise<SandboxRecord> {
    return this.#act(caller, id, (member) => this.#lifecycle.stop(member, caller));
  }

  pause(caller: Caller, id: string): Promise<SandboxRecord> {
    return this.#act(caller, id, (member) => this.#lifecycle.pause(member, caller));
  }

  resume(caller: Caller, id: string): Promise<SandboxRecord> {
    return this.#act(caller, id, (member) => this.#lifecycle.resume(member, caller));
  }

  reset(caller: Caller, id: string): Promise<SandboxRecord> {
    return this.#act(caller, id, (member) => this.#lifecycle.reset(member, caller));
  }

  async #act(caller: Caller, id: string, act: (member: Member) => Promise<void>): Promise<SandboxRecord> {
    this.uses.checkOpen();
    const member = this.#registry.find(caller, id);
    await act(member);
    return member.record;
  }

  async fork(caller: Caller, id: string, request: ForkRequest): Promise<Fork> {
    this.uses.checkOpen();
    const member = this.#registry.find(caller, id);
    return this.#using(member, () => forkMember(this.#creation, caller, member, request));
  }

  async destroy(caller: Caller, id: string): Promise<void> {
    this.uses.checkOpen();
    await this.#destroy(this.#registry.find(caller, id), caller);
  }

  async #destroy(member: Member, caller: Caller | undefined, reason?: string): Promise<void> {
    try {
      await this.#lifecycle.destroy(member, caller, reason);
    } finally {
      if (member.record.status === "destroyed") this.#registry.delete(member);
    }
  }

  async use<T>(caller: Caller, id: string, act: (sandbox: Sandbox) => Promise<T>): Promise<T> {
    this.uses.checkOpen();
    return this.#lend(this.#registry.find(caller, id), caller, act, true);
  }

  /** A start is a job too, unless it is part of one. */
  #lend<T>(member: Member, caller: Caller, act: (sandbox: Sandbox) => Promise<T>, queued: boolean): Promise<T> {
    const start = () => this.#lifecycle.running(member, caller);
    const resolved = { caller, kind: "start", sandboxId: member.record.id } as const;
    return this.#using(member, async () => {
      if (member.ready === undefined) checkMayStart(caller, member.record);
      const sandbox = member.ready ?? (queued ? await this.#queue.with(resolved, start) : await start());
      return act(sandbox).catch((error: unknown) => {
        throw cleanError(sandbox.redactor, error);
      });
    });
  }

  async #using<T>(member: Member, act: () => Promise<T>): Promise<T> {
    this.uses.begin();
    member.beginUse();
    try {
      return await act();
    } finally {
      member.endUse();
      this.uses.end();
    }
  }

  async run<T extends object>(
    caller: Caller,
    id: string,
    command: Command,
    options: JobOptions,
    act: (sandbox: CommandHandle) => Promise<T>,
  ): Promise<T> {
    this.uses.checkOpen();
    const member = this.#registry.find(caller, id);
    const { settings, approvals, runs, egress = noEgress } = this.#parts;
    const parts = { queue: this.#queue, runs, policy: settings.commands, approvals };
    const openDomains = (domains: readonly string[]) => egress.openRun(caller, id, domains);
    return runJob(parts, caller, member, command, options, () =>
      this.#lend(member, caller, (sandbox) => act(sandbox.command(command, openDomains)), false),
    );
  }

  async stats(caller: Caller, id: string): Promise<SandboxStats> {
    const { sandbox, record } = this.#registry.find(caller, id);
    if (sandbox === undefined) throw new AppError("conflict", `sandbox ${id} is ${record.status}`);
    return sandbox.stats();
  }

  /** Secrets of that namespace have changed: its sandboxes that run get and lose what they must. */
  async refreshSecrets(namespace: string): Promise<void> {
    await refreshSecrets(this.#creation, namespace);
  }

  namespaceOf(id: string): string | undefined {
    return this.#registry.get(id)?.record.namespace;
  }

  build<T>(caller: Caller, signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    this.uses.checkOpen();
    return this.#queue.with({ caller, kind: "build", signal }, act);
  }

  /** Ends those that wait with that root. */
  readonly emptyPools = (layerId: LayerId): Promise<void> => this.#pools.empty(layerId);

  /** For a start outside of the fleet: those that wait give way where the disk has no room for it. */
  makeRoom<T>(start: () => Promise<T>): Promise<T> {
    return this.#pools.makeRoom(start);
  }

  pools(): PoolStatus[] {
    return this.#pools.status();
  }

  queue(): QueueStatus {
    return this.#queue.status();
  }

  waiting({ principal }: Caller): QueuedJob[] {
    return this.#queue.waiting(principal.namespace);
  }

  cancel({ principal }: Caller, jobId: string): QueuedJob {
    return this.#queue.cancel(principal.namespace, jobId);
  }

  async #openPool(): Promise<void> {
    const { settings } = this.#parts;
    const engine = await this.#creation.engines.choose(settings.engine);
    this.#pools.open(this.#resolveParts.images.choose(settings.image), engine);
  }

  async #removeAll(ids: readonly string[]): Promise<void> {
    const failed = await eachOf(ids, fleetLimits.expiringAtOnce, (id) => this.#removals.remove(id));
    for (const error of failed) this.#parts.onError(error);
  }

  async #expire(member: Member, due: "stop" | "destroy"): Promise<void> {
    if (due === "destroy") await this.#destroy(member, undefined, "its lifetime has passed");
    else await this.#lifecycle.stop(member, undefined, { why: "it was idle", unless: () => member.due() !== "stop" });
  }

  /** Takes nothing new, waits for what is under way, and leaves the sandboxes to the next daemon (LIF-12). */
  async drain(limitMs: number): Promise<void> {
    this.#timers.stop();
    await this.uses.close(limitMs);
    await this.#opening;
    await this.#pools.close();
    await this.#creation.seeds.close();
    const failed = await eachOf([...this.#registry.all], fleetLimits.recoveringAtOnce, async (member) => {
      await this.#timers.saveUse(member);
      await member.turn.take(async () => member.sandbox?.[Symbol.asyncDispose]());
    });
    for (const error of failed) this.#parts.onError(error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain(0);
  }
}

/** One hosted server while the daemon runs: its sandboxes, and the instances in them. */
import { AppError } from "../core/errors.ts";
import type { Happening, Recorder } from "../core/journal.ts";
import type { ServerConfig, ServerRecord, ServerStatus, ServerVersion } from "../core/server.ts";
import type { LinkFor, ServerLink } from "../core/server-link.ts";
import type { Clock } from "../lib/clock.ts";
import { Turn } from "../lib/turn.ts";
import { Home } from "./home.ts";
import { Instance, type Program } from "./instance.ts";
import { serverLimits } from "./limits.ts";
import { Places } from "./places.ts";
import { startProgram } from "./program.ts";
import type { ServerLog } from "./server-log.ts";
import type { OwnedSandbox, SandboxTerms, ServerSandboxes } from "./server-sandboxes.ts";
import { noVersion } from "./words.ts";

export interface RuntimeParts {
  sandboxes: ServerSandboxes;
  journal: Recorder;
  log: ServerLog;
  /** The server's record of now. */
  record: () => ServerRecord;
  /** The version that answers calls. */
  current: () => ServerVersion | undefined;
  clock: Clock;
  onError: (error: unknown) => void;
}

/** A version with its code. */
export type RunnableVersion = ServerVersion & {
  layerId: NonNullable<ServerVersion["layerId"]>;
  contact: NonNullable<ServerVersion["contact"]>;
};

export class ServerRuntime {
  readonly #parts: RuntimeParts;
  readonly #homes = new Map<string, Home>();
  readonly #instances = new Map<string, Instance>();
  readonly #places: Places;
  readonly #changes = new Turn();
  /** Closed while versions change: calls wait. */
  #gate: Promise<void> | undefined;
  /** Rejects once the server has ended for good. */
  #gone: Promise<never> | undefined;
  /** Runs in place of the current version and settings, while it takes over. */
  #next: { version: ServerVersion; config: ServerConfig } | undefined;

  constructor(parts: RuntimeParts, found: readonly OwnedSandbox[]) {
    this.#parts = parts;
    this.#places = new Places(serverLimits.instances, serverLimits.waiting, () => this.#leastUsed());
    for (const { id, use, person } of found) if (use !== "check") this.#homes.set(person, this.#home(person, id));
  }

  /** Starts an instance for them if need be. */
  async connect(who: LinkFor, signal: AbortSignal): Promise<ServerLink> {
    for (;;) {
      await (this.#gone ?? this.#gate);
      const version = this.#version();
      const instance = this.#instance(version, who);
      const { release, ...lease } = await instance.lease(signal);
      // The other one of these two, where a new version is spoken to in another way.
      if (this.#version().number === version.number)
        return { ...lease, release, version: version.number, contact: version.contact };
      release();
    }
  }

  get #config(): ServerConfig {
    return this.#next?.config ?? this.#parts.record().config;
  }

  #version(): RunnableVersion {
    const version = this.#next?.version ?? this.#parts.current();
    if (version === undefined || version.layerId === null || version.contact === null)
      throw noVersion(this.#parts.record());
    return { ...version, layerId: version.layerId, contact: version.contact };
  }

  #instance({ contact }: RunnableVersion, { principal, capabilities }: LinkFor): Instance {
    const isShared = contact.transport === "http";
    const key = isShared ? "" : JSON.stringify([principal, capabilities]);
    const person = isShared ? "" : principal;
    const found = this.#instances.get(key);
    if (found !== undefined) return found;
    this.#forgetUnused();
    const { clock, onError } = this.#parts;
    const instance: Instance = new Instance({
      start: (signal, begun) => this.#start(person, signal, begun),
      gate: () => this.#gone ?? this.#gate,
      idleTimeoutMs: () => this.#parts.record().config.idleTimeoutMs,
      onStarted: () =>
        this.#tell({ type: "server.started", data: { ...this.#about(), version: this.#version().number } }),
      onStopped: (reason) => this.#tell({ type: "server.stopped", data: { ...this.#about(), reason } }),
      onCrashed: (reason, failures) => {
        const crash_loop = failures >= serverLimits.crashes;
        this.#tell({
          type: "server.crashed",
          data: { ...this.#about(), reason: firstLine(reason), failures, crash_loop },
        });
      },
      onFree: () => this.#places.look(),
      ...{ clock, onError },
    });
    this.#instances.set(key, instance);
    return instance;
  }

  /** Those that have stopped hold nothing but their failures, and of these not too many are kept. */
  #forgetUnused(): void {
    const isFull = this.#instances.size >= serverLimits.failedInstances;
    for (const [key, instance] of this.#instances)
      if (instance.isIdle && (isFull || !instance.hasFailed)) this.#instances.delete(key);
  }

  async #start(person: string, signal: AbortSignal, begun: () => void): Promise<Program> {
    const version = this.#version();
    const { log } = this.#parts;
    await using opened = new AsyncDisposableStack();
    const place = await this.#places.take(signal);
    opened.defer(() => place.free());
    begun();
    const home = this.#homes.get(person) ?? this.#home(person);
    this.#homes.set(person, home);
    const sandbox = await home.enter();
    opened.defer(() => home.leave());
    signal.throwIfAborted();
    const writer = opened.use(log.writer());
    const { command, port } = this.#config;
    await log.note(`version ${version.number} starts`);
    const words = command ?? version.command;
    const { transport } = version.contact;
    const options = { command: words, transport, port, log: writer.append, signal };
    const { carrier, ended, end } = await startProgram(sandbox, options).catch((error: unknown) => {
      throw withTail(error, writer.tail());
    });
    const kept = opened.move();
    return {
      carrier,
      mask: sandbox.mask,
      ended: ended.then((why) => [why, writer.tail()].join("\n").trim()),
      close: async () => {
        await using _rest = kept;
        await end();
      },
    };
  }

  #home(person: string, id?: string): Home {
    const { sandboxes, record } = this.#parts;
    const use = person === "" ? ({ use: "shared", person } as const) : ({ use: "person", person } as const);
    return new Home({ server: record(), sandboxes, use, terms: () => this.terms(this.#version()) }, id);
  }

  /** Settings of a sandbox that runs this version now. */
  terms({ layerId, number, held }: RunnableVersion): SandboxTerms & { secrets: boolean } {
    const { name } = this.#parts.record();
    const { env, limits, network } = this.#config;
    return { root: { name: `${name}:${number}`, layerId }, env, limits, network, secrets: !held };
  }

  /** The sandbox with the data that all share; undefined before the first start, and for servers over stdio. */
  get shared(): Home | undefined {
    const home = this.#homes.get("");
    return home?.id === undefined ? undefined : home;
  }

  get homes(): readonly Home[] {
    return [...this.#homes.values()].filter(({ id }) => id !== undefined);
  }

  /** Calls wait, those under way end, and every instance stops; then `act` has the server for itself. */
  exclusively<T>(why: string, act: () => Promise<T>): Promise<T> {
    return this.#changes.take(async () => {
      await this.#gone;
      const opened = Promise.withResolvers<void>();
      this.#gate = opened.promise;
      try {
        await Promise.all([...this.#instances.values()].map((one) => one.drain(serverLimits.drainMs)));
        await this.#stopAll(why);
        return await act();
      } finally {
        this.#gate = undefined;
        opened.resolve();
      }
    });
  }

  async #stopAll(why: string): Promise<void> {
    await Promise.all([...this.#instances.values()].map((instance) => instance.stop(why)));
  }

  /** Starts the shared instance of this version while calls wait; the version before goes on where that fails. */
  async trial(version: ServerVersion, config: ServerConfig): Promise<void> {
    this.#next = { version, config };
    const runnable = this.#version();
    if (runnable.contact.transport !== "http") return;
    const instance = this.#instance(runnable, { principal: "", capabilities: "" });
    instance.forgive();
    (await instance.lease(AbortSignal.timeout(serverLimits.startMs), { isTrial: true })).release();
  }

  /** From now on the current version runs again. */
  settle(): void {
    this.#next = undefined;
    for (const instance of this.#instances.values()) instance.forgive();
  }

  /** Stops at once all that run; the next call starts them again. */
  async stop(why: string): Promise<void> {
    await this.#stopAll(why);
    for (const instance of this.#instances.values()) instance.forgive();
  }

  /** Ends the server for good: calls that wait, and new ones, find none. */
  remove(): Promise<void> {
    const { name } = this.#parts.record();
    return this.#endWith(new AppError("not_found", `the server ${name} was deleted`), "the server was deleted");
  }

  /** Before the daemon ends. */
  close(): Promise<void> {
    return this.#endWith(new AppError("unavailable", "the daemon is shutting down"), "the daemon ends");
  }

  async #endWith(reason: AppError, why: string): Promise<void> {
    this.#gone = Promise.reject(reason);
    this.#gone.catch(() => undefined);
    await this.#stopAll(why);
    // A change of versions that was under way has started what it needed for itself.
    await this.#changes.settled;
    await this.#stopAll(why);
  }

  async status(): Promise<ServerStatus> {
    const all = [...this.#instances.values()];
    const states = all.map(({ state }) => state);
    const state =
      (["running", "starting", "stopping", "crash_loop"] as const).find((one) => states.includes(one)) ?? "stopped";
    const started = all.flatMap(({ startedMs }) => (startedMs === undefined ? [] : [startedMs]));
    const { clock } = this.#parts;
    const used = await Promise.all(this.homes.map(async ({ running }) => running?.use().catch(() => undefined)));
    const sum = (of: (one: { cpuMs: number; memoryBytes: number }) => number) =>
      used.reduce((total, one) => total + (one === undefined ? 0 : of(one)), 0);
    return {
      state,
      instances: started.length,
      startedAtMs:
        started.length === 0 ? null : Math.round(clock.wallMs() - clock.monotonicMs() + Math.min(...started)),
      failure: all.find(({ failure }) => failure !== null)?.failure ?? null,
      cpuMs: sum(({ cpuMs }) => cpuMs),
      memoryBytes: sum(({ memoryBytes }) => memoryBytes),
    };
  }

  #leastUsed(): (() => Promise<void>) | undefined {
    const unused = [...this.#instances.values()].filter(({ state, leases }) => state === "running" && leases === 0);
    const [oldest] = unused.sort((left, right) => left.lastUsedMs - right.lastUsedMs);
    return oldest && (() => oldest.stop("another client needs its place"));
  }

  #about(): { server_id: string; name: string } {
    const { id, name } = this.#parts.record();
    return { server_id: id, name };
  }

  #tell(happening: Happening<"server.started" | "server.stopped" | "server.crashed">): void {
    const { journal, record, onError } = this.#parts;
    journal.record({ ...happening, by: "system", namespace: record().namespace }).catch(onError);
  }
}

function firstLine(text: string): string {
  return (text.split("\n", 1)[0] ?? "").slice(0, 200);
}

/** The end of a program's output says more than its exit code. */
function withTail(error: unknown, tail: string): unknown {
  if (!(error instanceof AppError) || tail === "") return error;
  const { code, message, hint } = error;
  return new AppError(code, `${message}\n${tail.trimEnd()}`, { ...(hint === undefined ? {} : { hint }), cause: error });
}

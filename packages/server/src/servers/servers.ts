import { rm } from "node:fs/promises";
import { AppError } from "../core/errors.ts";
import type { Recorder } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";
import { requireScope } from "../core/scope.ts";
import type {
  ArchiveBody,
  BuildMessage,
  Deployed,
  DeployRequest,
  HostedServers,
  ServerConfig,
  ServerRecord,
  ServerStatus,
  ServerVersion,
  VersionDifference,
} from "../core/server.ts";
import type { Clock } from "../lib/clock.ts";
import { randomId } from "../lib/random-id.ts";
import { Turn } from "../lib/turn.ts";
import type { Deploys, Upload } from "./deploys.ts";
import { differences } from "./diff.ts";
import { serverLimits } from "./limits.ts";
import type { RunningServers } from "./pool.ts";
import { readConfig } from "./read-config.ts";
import type { ServerBook } from "./server-book.ts";
import { nameOf } from "./server-name.ts";
import type { ServerSandboxes } from "./server-sandboxes.ts";
import { checkPackageSource } from "./sources/package-source.ts";
import type { BuiltSource } from "./version-builder.ts";

export interface ServersParts {
  book: ServerBook;
  running: RunningServers;
  deploys: Deploys;
  sandboxes: ServerSandboxes;
  /** Binds these secrets to a server, as files, and no others. */
  bindSecrets: (caller: Caller, serverId: string, names: readonly string[]) => Promise<void>;
  /** Refuses a network policy that the caller may not set. */
  checkNetwork: (caller: Caller, network: ServerConfig["network"]) => void;
  journal: Recorder;
  clock: Clock;
  onError: (error: unknown) => void;
}

/** Settings that running instances have at once; the others apply with the next start, or the next build. */
const live = ["network", "secrets", "limits", "idleTimeoutMs"] as const;
const atStart = ["env", "command", "port"] as const;
/** Those by which a version that was confirmed runs something else. */
const program = ["env", "command"] as const;

export class Servers implements HostedServers {
  readonly #parts: ServersParts;
  /** Servers and versions are recorded one after the other, so that no two have one name or number. */
  readonly #making = new Turn();

  constructor(parts: ServersParts) {
    this.#parts = parts;
  }

  async deploy(caller: Caller, request: DeployRequest, archive?: ArchiveBody): Promise<Deployed> {
    const { source } = request;
    requireScope(caller.principal, "use");
    if (source.kind === "remote")
      throw new AppError("unsupported", "cannot deploy a URL: servers that run elsewhere are not supported", {
        hint: "deploy a folder, an archive, npm:NAME@VERSION or pypi:NAME@VERSION",
      });
    if (source.kind !== "archive") checkPackageSource(source);
    const name = nameOf(request);
    this.#parts.journal.requireRoom(caller.principal);
    this.#checkChange(caller, request.config, this.#find(caller, name));
    using place = this.#parts.deploys.reserve(caller);
    const upload = await this.#store(source, archive);
    try {
      const { server, version } = await this.#making.take(async () => {
        const server = await this.#findOrMake(caller, name, request);
        return { server, version: await this.#parts.deploys.begin(caller, server, request, upload) };
      });
      const later = pick(request.config, [...atStart, "image"]); // the others are in effect, and may change meanwhile
      const configThen = () => this.#checkChange(caller, later, this.#parts.book.byId(server.id) ?? server);
      this.#parts.deploys.make({
        caller,
        server,
        version,
        request: { ...request, source },
        upload,
        configThen,
        place: place.move(),
      });
      return { server: this.#parts.book.byId(server.id) ?? server, version };
    } catch (error) {
      if (upload !== undefined) await rm(upload.path, { force: true });
      throw error;
    }
  }

  #find({ principal }: Caller, name: string): ServerRecord | undefined {
    return this.#parts.book.byName(principal.namespace, name);
  }

  async #store(source: BuiltSource, archive: ArchiveBody | undefined): Promise<Upload | undefined> {
    if (source.kind !== "archive") return undefined;
    if (archive === undefined) throw new AppError("invalid", "the request has no archive");
    const { deploys } = this.#parts;
    const path = deploys.uploadPath();
    const { sha256 } = await deploys.spool(path, archive);
    return { path, sha256 };
  }

  async #findOrMake(caller: Caller, name: string, { config }: DeployRequest): Promise<ServerRecord> {
    const { book, clock } = this.#parts;
    const found = this.#find(caller, name);
    if (found !== undefined) return this.#apply(caller, found, pick(config, live));
    const { namespace, id: createdBy } = caller.principal;
    if (book.all().length >= serverLimits.servers) throw full(`there may be ${serverLimits.servers} servers`);
    if (book.list(caller).length >= serverLimits.perNamespace)
      throw full(`the namespace may have ${serverLimits.perNamespace} servers`);
    const record: ServerRecord = {
      ...{ id: randomId(8, "hex"), namespace, name, config: readConfig({ ...config, secrets: [] }) },
      ...{ current: null, newest: 0, savedSnapshotId: null, createdAtMs: clock.wallMs(), createdBy },
    };
    await book.insert(record);
    try {
      return await this.#apply(caller, record, pick(config, ["secrets"]));
    } catch (error) {
      await book.forget(record.id, { type: "server.removed", by: caller, data: { server_id: record.id, name } });
      throw error;
    }
  }

  /** Refuses changes that the caller may not make, or that nothing would obey. */
  #checkChange(caller: Caller, changes: Partial<ServerConfig>, server: ServerRecord | undefined): ServerConfig {
    const config = readConfig(changes, server?.config);
    const before = server?.config;
    if (changes.secrets !== undefined && !isSame(config.secrets, before?.secrets ?? []))
      requireScope(caller.principal, "operate");
    if (changes.network !== undefined && !isSame(config.network, before?.network ?? {}))
      this.#parts.checkNetwork(caller, config.network);
    const runsOther = program.some((name) => changes[name] !== undefined && !isSame(config[name], before?.[name]));
    if (server !== undefined && runsOther && this.#mayHaveSecrets(server)) requireScope(caller.principal, "operate");
    const storage = before?.limits.storageBytes;
    const hasData = server !== undefined && this.#sandboxesOf(server).length > 0;
    if (hasData && storage !== undefined && config.limits.storageBytes !== storage)
      throw new AppError("conflict", `the storage of server ${server.name} cannot change: it has data`, {
        hint: "delete the server and deploy it again with another storage",
      });
    return config;
  }

  /** True if one of its versions gets the server's secrets when it runs, now or after a rollback. */
  #mayHaveSecrets({ id }: ServerRecord): boolean {
    return this.#parts.book.versions(id).some(({ held, state }) => !held && state !== "failed");
  }

  #sandboxesOf({ id }: Pick<ServerRecord, "id">) {
    return this.#parts.sandboxes.all().filter(({ server, use }) => server.id === id && use !== "check");
  }

  /** Puts changes into effect: bound, open and limited at once; the record last, so that it promises nothing that is not so. */
  async #apply(caller: Caller, server: ServerRecord, changes: Partial<ServerConfig>): Promise<ServerRecord> {
    const { book, sandboxes, bindSecrets } = this.#parts;
    const config = this.#checkChange(caller, changes, server);
    const what = Object.keys(changes).filter((key) => {
      const name = key as keyof ServerConfig;
      return !isSame(config[name], server.config[name]);
    });
    if (what.length === 0) return server;
    if (what.includes("secrets")) await bindSecrets(caller, server.id, config.secrets);
    if (what.includes("network") || what.includes("limits"))
      for (const { id } of this.#sandboxesOf(server)) await sandboxes.change(server, id, config);
    const data = { server_id: server.id, name: server.name, what: what.sort().join(",") };
    return book.change(server.id, { config }, [{ type: "server.changed", by: caller, data }]);
  }

  async change(caller: Caller, server: string, changes: Partial<ServerConfig>) {
    const record = this.#get(caller, server);
    const changed = await this.#apply(caller, record, changes);
    const needsStart = atStart.some((name) => !isSame(changed.config[name], record.config[name]));
    const runtime = this.#parts.running.known(record.id);
    const isRunning = runtime !== undefined && (await runtime.status()).instances > 0;
    if (needsStart) await this.#restart(changed, "its settings changed");
    return { server: changed, restarted: needsStart && isRunning };
  }

  async *buildLog(caller: Caller, server: string, number: number, gone: AbortSignal): AsyncGenerator<BuildMessage> {
    yield* this.#parts.deploys.follow(await this.version(caller, server, number), gone);
  }

  async list(caller: Caller): Promise<ServerRecord[]> {
    return this.#parts.book.list(caller);
  }

  async get(caller: Caller, server: string): Promise<ServerRecord> {
    return this.#get(caller, server);
  }

  #get(caller: Caller, server: string): ServerRecord {
    return this.#parts.book.get(caller, server);
  }

  async status(caller: Caller, server: string): Promise<ServerStatus> {
    const { id } = this.#get(caller, server);
    const stopped = {
      state: "stopped",
      instances: 0,
      startedAtMs: null,
      failure: null,
      cpuMs: 0,
      memoryBytes: 0,
    } as const;
    return this.#parts.running.known(id)?.status() ?? stopped;
  }

  async *logs(caller: Caller, server: string, options: { follow: boolean; gone: AbortSignal }): AsyncGenerator<string> {
    const { id } = this.#get(caller, server);
    yield* this.#parts.running.logOf(id).read(options);
  }

  async restart(caller: Caller, server: string): Promise<void> {
    await this.#restart(this.#get(caller, server), "a restart was requested");
  }

  async #restart({ id }: ServerRecord, why: string): Promise<void> {
    const runtime = this.#parts.running.known(id);
    await runtime?.exclusively(why, async () => runtime.settle());
  }

  async stop(caller: Caller, server: string): Promise<void> {
    await this.#parts.running.known(this.#get(caller, server).id)?.stop("a stop was requested");
  }

  async delete(caller: Caller, server: string): Promise<void> {
    const record = this.#get(caller, server);
    const { book, running, deploys, sandboxes, bindSecrets, onError } = this.#parts;
    await running.runtime(record).remove();
    await deploys.end(record.id);
    await bindSecrets({ ...caller, principal: { ...caller.principal, role: "operator" } }, record.id, []);
    const snapshots = book.versions(record.id).flatMap(({ dataSnapshotId }) => dataSnapshotId ?? []);
    const data = { server_id: record.id, name: record.name };
    await book.forget(record.id, { type: "server.removed", by: caller, data });
    const own = sandboxes.all().filter((one) => one.server.id === record.id);
    await Promise.all(own.map(({ id }) => sandboxes.destroy(record, id).catch(onError)));
    for (const snapshot of snapshots) await sandboxes.forget(record, snapshot).catch(onError);
    await running.logOf(record.id).remove();
    running.forget(record.id);
  }

  async versions(caller: Caller, server: string): Promise<ServerVersion[]> {
    return this.#parts.book.versions(this.#get(caller, server).id);
  }

  async version(caller: Caller, server: string, number: number): Promise<ServerVersion> {
    return this.#parts.book.version(this.#get(caller, server), number);
  }

  async diff(caller: Caller, server: string, from: number, to: number): Promise<VersionDifference[]> {
    return differences(await this.version(caller, server, from), await this.version(caller, server, to));
  }

  async rollback(caller: Caller, server: string, number: number, { data }: { data: boolean }): Promise<ServerVersion> {
    const record = this.#get(caller, server);
    requireScope(caller.principal, "use");
    const version = this.#parts.book.version(record, number);
    if (version.state !== "ready" || version.layerId === null)
      throw new AppError("conflict", `version ${number} of server ${record.name} never passed its check`, {
        hint: `caisson servers versions ${record.name} lists versions with their state`,
      });
    if (record.current === number) throw new AppError("conflict", `version ${number} answers calls already`);
    if (data && version.dataSnapshotId === null)
      throw new AppError("conflict", `the data of version ${number} were not kept`, {
        hint: "roll back without the data: the version continues with the current data",
      });
    return this.#parts.deploys.rollBack(caller, record, version, data ? version.dataSnapshotId : null);
  }

  async confirm(caller: Caller, server: string, number: number): Promise<ServerVersion> {
    const record = this.#get(caller, server);
    requireScope(caller.principal, "operate");
    const { book } = this.#parts;
    const version = book.version(record, number);
    if (!version.held) return version;
    const data = { server_id: record.id, name: record.name, version: number };
    const confirmed = await book.changeVersion(version, { held: false }, [
      { type: "server.confirmed", by: caller, data },
    ]);
    if (record.current === number) await this.#restart(record, "its version was confirmed");
    return confirmed;
  }
}

const isSame = (left: unknown, right: unknown) => JSON.stringify(left) === JSON.stringify(right);

function pick<K extends keyof ServerConfig>(config: Partial<ServerConfig>, names: readonly K[]): Partial<ServerConfig> {
  return Object.fromEntries(names.flatMap((name) => (config[name] === undefined ? [] : [[name, config[name]]])));
}

function full(what: string): AppError {
  return new AppError("limit_exceeded", what, { hint: "delete unused servers first: caisson servers rm SERVER" });
}

/** Makes versions: builds their code, checks it on a copy of the data, and lets it take over. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError, messageOf } from "../core/errors.ts";
import type { ChosenImage } from "../core/image-record.ts";
import type { News } from "../core/journal.ts";
import { type Caller, unattended } from "../core/principal.ts";
import { isAllowed } from "../core/scope.ts";
import type {
  ArchiveBody,
  BuildMessage,
  DeployRequest,
  ServerConfig,
  ServerContact,
  ServerRecord,
  ServerVersion,
} from "../core/server.ts";
import type { Clock } from "../lib/clock.ts";
import { randomId } from "../lib/random-id.ts";
import { Turn } from "../lib/turn.ts";
import { BuildLog } from "./build-log.ts";
import { probe } from "./check/probe.ts";
import { withShare } from "./home.ts";
import { serverLimits } from "./limits.ts";
import type { RunningServers } from "./pool.ts";
import type { ServerBook } from "./server-book.ts";
import type { SandboxTerms, ServerSandboxes } from "./server-sandboxes.ts";
import { takeOver } from "./take-over.ts";
import type { BuiltSource, VersionBuilder } from "./version-builder.ts";

export interface DeployParts {
  book: ServerBook;
  running: RunningServers;
  sandboxes: ServerSandboxes;
  builder: VersionBuilder;
  /** Finds an image, and waits for one that has to be made. */
  image: (caller: Caller, image: string) => Promise<ChosenImage>;
  /** Folder of uploads. */
  folder: string;
  clock: Clock;
  onError: (error: unknown) => void;
}

/** A stored upload. */
export interface Upload {
  path: string;
  sha256: string;
}

interface Making {
  caller: Caller;
  server: ServerRecord;
  version: ServerVersion;
  request: DeployRequest & { source: BuiltSource };
  upload: Upload | undefined;
  /** Settings once the version has taken over. */
  configThen: () => ServerConfig;
  /** Its place among the versions of the namespace. */
  place: Disposable;
  log: BuildLog;
  signal: AbortSignal;
}

export class Deploys implements AsyncDisposable {
  readonly #parts: DeployParts;
  readonly #turns = new Map<string, Turn>();
  readonly #logs = new Map<string, BuildLog>();
  readonly #underWay = new Set<Promise<void>>();
  /** Versions in the making, by namespace. */
  readonly #making = new Map<string, number>();
  /** By server, for each of which a version was made since the daemon started. */
  readonly #endings = new Map<string, AbortController>();

  constructor(parts: DeployParts) {
    this.#parts = parts;
  }

  /** Takes a place for a version of this caller's namespace, until it is made. */
  reserve({ principal: { namespace } }: Caller): DisposableStack {
    const making = this.#making.get(namespace) ?? 0;
    if (making >= serverLimits.making)
      throw new AppError("limit_exceeded", `the namespace makes ${making} versions of servers already`, {
        hint: "wait until one is ready",
        retryAfterMs: 5_000,
      });
    this.#making.set(namespace, making + 1);
    const place = new DisposableStack();
    place.defer(() => {
      const left = (this.#making.get(namespace) ?? 1) - 1;
      if (left === 0) this.#making.delete(namespace);
      else this.#making.set(namespace, left);
    });
    return place;
  }

  /** A path for an upload that nobody else has. */
  uploadPath(): string {
    return join(this.#parts.folder, randomId(16, "hex"));
  }

  spool(path: string, archive: ArchiveBody): Promise<{ sha256: string }> {
    return this.#parts.builder.spool(path, archive);
  }

  /** Records the next version; it is made behind the caller's back. */
  async begin(
    { principal }: Caller,
    server: ServerRecord,
    { source }: DeployRequest,
    upload: Upload | undefined,
  ): Promise<ServerVersion> {
    const { book, clock } = this.#parts;
    const number = (book.byId(server.id)?.newest ?? server.newest) + 1;
    const version: ServerVersion = {
      ...{ serverId: server.id, number, state: "building", step: "queue", error: null, source },
      held: !isAllowed(principal, "operate"),
      ...{ sourceDigest: upload?.sha256 ?? "", inputsDigest: "", image: null, layerId: null, bytes: 0, command: [] },
      ...{ contact: null, packages: [], dataSnapshotId: null, createdAtMs: clock.wallMs(), createdBy: principal.id },
    };
    await book.insertVersion(version);
    return version;
  }

  make(making: Omit<Making, "log" | "signal">): void {
    const { server, version, place } = making;
    const log = new BuildLog();
    const key = keyOf(version);
    this.#logs.set(key, log);
    const ending = this.#endings.get(server.id) ?? new AbortController();
    this.#endings.set(server.id, ending);
    const made = this.#turn(server.id)
      .take(() => this.#make({ ...making, caller: unattended(making.caller), log, signal: ending.signal }))
      .catch(this.#parts.onError)
      .finally(() => {
        place[Symbol.dispose]();
        this.#logs.delete(key);
        this.#underWay.delete(made);
      });
    this.#underWay.add(made);
  }

  #turn(serverId: string): Turn {
    const turn = this.#turns.get(serverId) ?? new Turn();
    this.#turns.set(serverId, turn);
    return turn;
  }

  async *follow(version: ServerVersion, gone: AbortSignal): AsyncGenerator<BuildMessage> {
    const log = this.#logs.get(keyOf(version));
    if (log !== undefined) return yield* log.follow(gone);
    const { state, step, error } = version;
    yield { type: "end", state, step, error };
  }

  async #make(making: Making): Promise<void> {
    const { book, running } = this.#parts;
    const { server, upload, log, signal } = making;
    let { version } = making;
    const write = (data: string) => log.add({ type: "log", data });
    let step = "queue";
    const begin = (name: string) => {
      step = name;
      log.add({ type: "step", step });
      book.changeVersion(version, { step }).catch(this.#parts.onError);
    };
    try {
      version = await this.#build(making, begin);
      begin("check");
      version = await book.changeVersion(version, { state: "checking" });
      const config = making.configThen();
      const { caller } = making;
      const contact = await this.check(server, version, config, { log: write, signal });
      version = await book.changeVersion(version, { contact });
      begin("switch");
      const runtime = running.runtime(server);
      await takeOver(this.#parts, { runtime, caller, server, version, config: making.configThen, restore: null });
      await this.#prune(server.id);
      log.add({ type: "end", state: "ready", step: null, error: null });
    } catch (error) {
      const text = explain(error, step);
      const data = { server_id: server.id, name: server.name, version: version.number, step };
      const news: News = { type: "server.failed", by: making.caller, data };
      const failed = { state: "failed", step, error: text } as const;
      if (book.byId(server.id) !== undefined) await book.changeVersion(version, failed, [news]);
      await this.#prune(server.id);
      log.add({ type: "end", ...failed });
    } finally {
      if (upload !== undefined) await rm(upload.path, { force: true });
    }
  }

  async #build(
    { caller, server, version, request, upload, configThen, log, signal }: Making,
    step: (name: string) => void,
  ): Promise<ServerVersion> {
    const { book, builder } = this.#parts;
    const { source, rebuild = false } = request;
    const { image: imageName, command } = configThen();
    step("image");
    const image = await this.#parts.image({ ...caller, gone: signal, told: onceEach(log) }, imageName);
    const digests = await builder.digests({ source, archiveDigest: upload?.sha256 ?? null, image, command });
    const known = rebuild ? undefined : book.built(server.namespace, digests.inputsDigest);
    if (known?.layerId != null) {
      log.add({ type: "log", data: `built before, as version ${known.number}\n` });
      const { layerId, bytes, command: words, packages, source: exact } = known;
      return book.changeVersion(version, {
        ...digests,
        image,
        layerId,
        bytes,
        command: words,
        packages,
        source: exact,
      });
    }
    const watch = { step, log: (data: string) => log.add({ type: "log", data }), signal };
    const archive = upload === undefined ? {} : { archive: upload.path };
    const built = await builder.build(caller, { source, ...archive, image, command }, watch);
    return book.changeVersion(version, { ...digests, image, ...built });
  }

  /** Talks to the version in a sandbox that is thrown away, on a copy of the data: of now, or of a snapshot. */
  async check(
    server: ServerRecord,
    version: ServerVersion,
    { env, limits, network, command, port }: ServerConfig,
    { log, signal, data }: { log: (text: string) => void; signal: AbortSignal; data?: string },
  ): Promise<ServerContact> {
    const { sandboxes, running } = this.#parts;
    const { layerId, held } = version;
    if (layerId === null) throw new AppError("internal", `version ${version.number} has no code`);
    const root = { name: `${server.name}:${version.number}`, layerId };
    const terms: SandboxTerms = { root, env, limits, network };
    await using opened = new AsyncDisposableStack();
    const now = data === undefined ? await running.runtime(server).shared?.save("for a check") : undefined;
    if (now !== undefined) opened.defer(() => sandboxes.forget(server, now));
    const copied = data ?? now ?? null;
    const room = copied === null ? { ...terms, limits: withShare(limits) } : terms;
    const id = await sandboxes.create(server, { use: "check", person: "" }, room, copied);
    opened.defer(() => sandboxes.destroy(server, id));
    const sandbox = await sandboxes.start(server, id, { ...terms, secrets: !held });
    const write = async (piece: Buffer) => log(piece.toString());
    const words = command ?? version.command;
    return await probe(sandbox, { command: words, port, log: write, signal });
  }

  /** Rolls back in the server's turn, after versions that are being made. */
  rollBack(
    caller: Caller,
    server: ServerRecord,
    version: ServerVersion,
    restore: string | null,
  ): Promise<ServerVersion> {
    return this.#turn(server.id).take(async () => {
      const config = () => this.#parts.book.byId(server.id)?.config ?? server.config;
      const data = restore === null ? {} : { data: restore };
      const { signal } = new AbortController();
      const contact = await this.check(server, version, config(), { log: () => undefined, signal, ...data });
      const checked = await this.#parts.book.changeVersion(version, { contact });
      const runtime = this.#parts.running.runtime(server);
      return takeOver(this.#parts, { runtime, caller, server, version: checked, config, restore });
    });
  }

  /** Keeps the newest versions and the one that runs. */
  async #prune(serverId: string): Promise<void> {
    const { book, sandboxes } = this.#parts;
    const server = book.byId(serverId);
    if (server === undefined) return;
    const kept = book.versions(serverId).filter(({ number }) => number !== server.current);
    const most = serverLimits.versions - (server.current === null ? 0 : 1);
    for (const version of kept.slice(most)) {
      await book.forgetVersion(version);
      if (version.dataSnapshotId !== null) await sandboxes.forget(server, version.dataSnapshotId);
    }
  }

  /** Ends what is being made of a server. */
  async end(serverId: string): Promise<void> {
    this.#endings.get(serverId)?.abort(new AppError("conflict", "the server was deleted"));
    this.#endings.delete(serverId);
    await this.#turns.get(serverId)?.settled;
    this.#turns.delete(serverId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const reason = new AppError("unavailable", "the daemon is shutting down");
    for (const ending of this.#endings.values()) ending.abort(reason);
    await Promise.all(this.#underWay);
  }
}

const keyOf = ({ serverId, number }: Pick<ServerVersion, "serverId" | "number">) => `${serverId} ${number}`;

/** Progress of an image that a build waits for, which is reported again with each line of the image's own log. */
function onceEach(log: BuildLog): (progress: string) => void {
  let last = "";
  return (progress) => {
    if (progress !== last) log.add({ type: "log", data: progress });
    last = progress;
  };
}

function explain(error: unknown, step: string): string {
  const text = messageOf(error);
  const hint = error instanceof AppError && error.hint !== undefined ? ` (${error.hint})` : "";
  return `${text.startsWith(`${step}: `) ? text : `${step}: ${text}`}${hint}`;
}

import { AppError } from "../core/errors.ts";
import type { ChosenImage } from "../core/image-record.ts";
import type { News, Recorder } from "../core/journal.ts";
import type { LayerId } from "../core/layer.ts";
import type { Caller } from "../core/principal.ts";
import type { ServerRecord, ServerRecords, ServerVersion, VersionChanges } from "../core/server.ts";

export interface ServerBookParts {
  records: ServerRecords;
  journal: Recorder;
}

type ServerChanges = Parameters<ServerRecords["update"]>[1];

/** Hosted servers and their versions by their records, each of one namespace: in memory, and in the store before anybody hears of them. */
export class ServerBook {
  readonly #parts: ServerBookParts;
  readonly #servers = new Map<string, ServerRecord>();
  /** Versions of each server, by their numbers. */
  readonly #versions = new Map<string, Map<number, ServerVersion>>();

  private constructor(parts: ServerBookParts) {
    this.#parts = parts;
  }

  /** Versions that the last daemon did not finish have failed. */
  static async open(parts: ServerBookParts): Promise<ServerBook> {
    const book = new ServerBook(parts);
    for (const record of (await parts.records.list()).reverse()) book.#servers.set(record.id, record);
    for (const version of (await parts.records.versions()).reverse()) {
      book.#put(version);
      if (version.state === "ready" || version.state === "failed") continue;
      if (book.#servers.get(version.serverId)?.current === version.number) {
        await book.changeVersion(version, { state: "ready", step: null, error: null }); // it had taken over
        continue;
      }
      const error = `${version.step ?? "build"}: the daemon ended`;
      await book.changeVersion(version, { state: "failed", error });
    }
    return book;
  }

  /** Servers of all namespaces. */
  all(): ServerRecord[] {
    return [...this.#servers.values()];
  }

  /** Newest first. */
  list({ principal }: Caller): ServerRecord[] {
    return this.all()
      .filter(({ namespace }) => namespace === principal.namespace)
      .reverse();
  }

  byId(id: string): ServerRecord | undefined {
    return this.#servers.get(id);
  }

  byName(namespace: string, name: string): ServerRecord | undefined {
    return this.all().find((one) => one.namespace === namespace && one.name === name);
  }

  /** By id or name. */
  get(caller: Caller, server: string): ServerRecord {
    const { namespace } = caller.principal;
    const record = this.#servers.get(server);
    const found = record?.namespace === namespace ? record : this.byName(namespace, server);
    if (found !== undefined) return found;
    throw new AppError("not_found", `unknown server ${JSON.stringify(server).slice(0, 80)}`, {
      hint: "caisson servers ls lists servers",
    });
  }

  /** Newest first. */
  versions(serverId: string): ServerVersion[] {
    return [...(this.#versions.get(serverId)?.values() ?? [])].sort((left, right) => right.number - left.number);
  }

  version(server: Pick<ServerRecord, "id" | "name">, number: number): ServerVersion {
    const found = this.#versions.get(server.id)?.get(number);
    if (found !== undefined) return found;
    throw new AppError("not_found", `server ${server.name} has no version ${number}`, {
      hint: `caisson servers versions ${server.name} lists those that are kept`,
    });
  }

  /** The version that answers calls. */
  current(serverId: string): ServerVersion | undefined {
    const number = this.#servers.get(serverId)?.current ?? null;
    return number === null ? undefined : this.#versions.get(serverId)?.get(number);
  }

  /** A layer of the namespace that was built of the same inputs. */
  built(namespace: string, inputsDigest: string): ServerVersion | undefined {
    return this.all()
      .filter((server) => server.namespace === namespace)
      .flatMap(({ id }) => this.versions(id))
      .find((version) => version.inputsDigest === inputsDigest && version.layerId !== null);
  }

  /** Layers that versions need: their code, and the images below it. */
  layerIds(): LayerId[] {
    return this.#all()
      .flatMap(({ layerId, image }) => [layerId, image?.layerId ?? null])
      .filter((id) => id !== null);
  }

  /** The image below the code of a version. */
  imageOf(layerId: LayerId): ChosenImage | undefined {
    return this.#all().find((version) => version.layerId === layerId)?.image ?? undefined;
  }

  #all(): ServerVersion[] {
    return [...this.#versions.values()].flatMap((own) => [...own.values()]);
  }

  async insert(record: ServerRecord): Promise<void> {
    await this.#parts.records.insert(record);
    this.#servers.set(record.id, record);
  }

  async insertVersion(version: ServerVersion): Promise<void> {
    const { serverId, number } = version;
    await this.#parts.records.insertVersion(version);
    await this.change(serverId, { newest: number });
    this.#put(version);
  }

  async change(id: string, changes: ServerChanges, news: readonly News[] = []): Promise<ServerRecord> {
    const { records } = this.#parts;
    await this.#record(news, (within) => records.update(id, changes, within));
    const record = this.#servers.get(id);
    if (record === undefined) throw new AppError("not_found", `unknown server ${id}`);
    const changed = { ...record, ...changes };
    this.#servers.set(id, changed);
    return changed;
  }

  async changeVersion(
    { serverId, number }: Pick<ServerVersion, "serverId" | "number">,
    changes: VersionChanges,
    news: readonly News[] = [],
  ): Promise<ServerVersion> {
    const { records } = this.#parts;
    await this.#record(news, (within) => records.updateVersion(serverId, number, changes, within));
    const version = this.#versions.get(serverId)?.get(number);
    if (version === undefined) throw new AppError("not_found", `server ${serverId} has no version ${number}`);
    const changed = { ...version, ...changes };
    this.#put(changed);
    return changed;
  }

  async forgetVersion({ serverId, number }: ServerVersion): Promise<void> {
    await this.#parts.records.deleteVersion(serverId, number);
    this.#versions.get(serverId)?.delete(number);
  }

  /** Deletes the records, and nothing else of the server. */
  async forget(id: string, news: News): Promise<void> {
    await this.#record([news], (within) => this.#parts.records.delete(id, within));
    this.#servers.delete(id);
    this.#versions.delete(id);
  }

  async #record(news: readonly News[], facts: (within?: Parameters<ServerRecords["delete"]>[1]) => Promise<void>) {
    if (news.length === 0) await facts();
    else await this.#parts.journal.recordAll(news, (within) => facts(within));
  }

  #put(version: ServerVersion): void {
    const own = this.#versions.get(version.serverId) ?? new Map<number, ServerVersion>();
    this.#versions.set(version.serverId, own.set(version.number, version));
  }
}

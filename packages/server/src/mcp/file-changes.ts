import { AppError } from "../core/errors.ts";
import type { Caller } from "../core/principal.ts";
import type { FileEvent, FileWatch } from "../core/watch.ts";
import { mcpLimits } from "../mcp-protocol/limits.ts";
import { findSession } from "../tools/find-session.ts";
import type { ToolParts } from "../tools/tool-parts.ts";
import { readWorkspaceUri } from "../tools/workspace-uri.ts";

interface Watched {
  namespace: string;
  /** Who wants to know of what: path and number by address. */
  uris: Map<string, { path: string; followers: number }>;
  watch: Promise<FileWatch>;
  /** What has changed and was not told yet. */
  due: Set<string>;
  timer: NodeJS.Timeout | undefined;
}

/** Tells that files of workspaces have changed which somebody subscribed to: one watch a sandbox, whoever asks. */
export class FileChanges implements AsyncDisposable {
  readonly #parts: Pick<ToolParts, "fleet">;
  readonly #tell: (namespace: string, uri: string) => void;
  readonly #watched = new Map<string, Watched>();
  /** By namespace. */
  readonly #followed = new Map<string, number>();

  constructor(parts: Pick<ToolParts, "fleet">, tell: (namespace: string, uri: string) => void) {
    this.#parts = parts;
    this.#tell = tell;
  }

  /** Resolves when changes from then on are told, with what ends that. Refuses what the caller may not see. */
  async follow(caller: Caller, uri: string): Promise<() => void> {
    const { session, path } = readWorkspaceUri(uri);
    const record = await findSession({ caller, parts: this.#parts }, session);
    if (record === undefined) throw new AppError("not_found", "unknown session");
    const { namespace } = caller.principal;
    this.#count(namespace, 1);
    const watched = this.#watched.get(record.id) ?? this.#open(caller, record.id);
    const entry = watched.uris.get(uri) ?? { path: plain(path), followers: 0 };
    watched.uris.set(uri, entry);
    entry.followers++;
    let ended = false;
    const end = () => {
      if (ended) return;
      ended = true;
      this.#count(namespace, -1);
      if (--entry.followers === 0) watched.uris.delete(uri);
      if (watched.uris.size === 0) this.#close(record.id, watched);
    };
    await watched.watch.catch((error: unknown) => {
      end();
      throw error;
    });
    return end;
  }

  #count(namespace: string, more: 1 | -1): void {
    const own = (this.#followed.get(namespace) ?? 0) + more;
    const all = [...this.#followed.values()].reduce((sum, one) => sum + one, more);
    if (more > 0 && (own > mcpLimits.subscriptionsPerNamespace || all > mcpLimits.subscriptions))
      throw new AppError("limit_exceeded", "too many subscribed files", { hint: "unsubscribe from some" });
    if (own > 0) this.#followed.set(namespace, own);
    else this.#followed.delete(namespace);
  }

  #open(caller: Caller, id: string): Watched {
    const watch = this.#parts.fleet.use(caller, id, ({ files }) => files.watch());
    const { namespace } = caller.principal;
    const watched: Watched = { namespace, uris: new Map(), watch, due: new Set(), timer: undefined };
    this.#watched.set(id, watched);
    // Whoever follows has the error; when the sandbox goes, all that was watched has changed.
    void this.#read(watched)
      .catch(() => undefined)
      .finally(() => {
        this.#note(watched, { type: "overflow", path: "" });
        this.#close(id, watched);
      });
    return watched;
  }

  async #read(watched: Watched): Promise<void> {
    for await (const event of await watched.watch) this.#note(watched, event);
  }

  #note(watched: Watched, event: FileEvent): void {
    for (const [uri, { path }] of watched.uris) if (concerns(event, path)) watched.due.add(uri);
    if (watched.due.size === 0 || watched.timer !== undefined) return;
    watched.timer = setTimeout(() => {
      watched.timer = undefined;
      for (const uri of watched.due) this.#tell(watched.namespace, uri);
      watched.due.clear();
    }, mcpLimits.updatesEveryMs).unref();
  }

  #close(id: string, { watch }: Watched): void {
    if (this.#watched.get(id)?.watch !== watch) return;
    this.#watched.delete(id);
    void watch.then((opened) => opened[Symbol.asyncDispose]()).catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#watched];
    for (const [id, watched] of all) {
      clearTimeout(watched.timer);
      this.#close(id, watched);
    }
    await Promise.allSettled(all.map(async ([, { watch }]) => (await watch)[Symbol.asyncDispose]()));
  }
}

/** As events name it. */
function plain(path: string): string {
  const inside = path.replace(/^\/workspace\//, "");
  return inside
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/");
}

/** Whether it happened to the file, or to a folder that the file is in. */
function concerns({ type, path, from }: FileEvent, file: string): boolean {
  if (type === "overflow") return true;
  return [path, from].some((changed) => changed !== undefined && (changed === file || file.startsWith(`${changed}/`)));
}

import { randomUUID } from "node:crypto";
import type { Blobs } from "../core/blob.ts";
import { AppError } from "../core/errors.ts";
import type { ReadOptions, SandboxFiles } from "../core/file.ts";
import type { Recorder } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";
import type { RestoreOutcome, SnapshotDiff, SnapshotQuery, SnapshotRecord, SnapshotRecords } from "../core/snapshot.ts";
import { comparePaths, type TreeEntry } from "../core/tree.ts";
import type { Clock } from "../lib/clock.ts";
import { Turn } from "../lib/turn.ts";
import { changesBetween } from "./compare-trees.ts";
import { describeChanges } from "./describe-changes.ts";
import { Slots } from "./fleet/slots.ts";
import { scanWorkspace } from "./scan-workspace.ts";
import { findSnapshotFile, readSnapshotFile, type SnapshotFile } from "./snapshot-file.ts";
import { snapshotLimits } from "./snapshot-limits.ts";
import type { Sweeper } from "./sweeper.ts";
import { restoreTree, type TakenTree, takeTree } from "./take-tree.ts";
import { readManifest } from "./tree-manifest.ts";

/** What a snapshot needs of a sandbox. */
export interface Workspace {
  readonly id: string;
  readonly files: SandboxFiles;
  checkDisk(what: string): Promise<void>;
}

export interface SnapshotParts {
  blobs: Blobs;
  records: SnapshotRecords;
  sweeper: Pick<Sweeper, "request">;
  journal: Recorder;
  clock: Clock;
  limits?: Readonly<Record<"perNamespace" | "perSandbox" | "namespaceBytes", number>>;
}

/** Snapshots of workspaces (LIF-09). A caller sees those of its own namespace, and others do not exist for it. */
export class Snapshots {
  readonly #parts: SnapshotParts;
  readonly #slots = new Slots(snapshotLimits.atOnce);
  readonly #turns = new Map<string, Turn>();
  /** Being read: they cannot be deleted meanwhile. */
  readonly #inUse = new Map<string, number>();
  readonly #leaving = new Set<string>();
  /** Being taken, by namespace: they count before they have a record. */
  readonly #coming = new Map<string, number>();

  constructor(parts: SnapshotParts) {
    this.#parts = parts;
  }

  async create(caller: Caller, workspace: Workspace, description = ""): Promise<SnapshotRecord> {
    const { namespace } = caller.principal;
    if (description.length > snapshotLimits.descriptionCharacters)
      throw new AppError(
        "invalid",
        `the description is too long (limit: ${snapshotLimits.descriptionCharacters} characters)`,
      );
    return counted(this.#coming, namespace, async () => {
      await this.#checkRoom(namespace, workspace.id);
      return this.#inTurn(workspace, async () => {
        let record: SnapshotRecord | undefined;
        await takeTree(this.#parts.blobs, workspace.files, async (tree) => {
          record = recordOf(caller, workspace, description, tree, this.#parts.clock.wallMs());
          await this.#insert(caller, record);
        });
        if (record === undefined) throw new AppError("internal", "a snapshot has no record");
        return record;
      });
    });
  }

  /** For as long as `use` takes. */
  async lend<T>(caller: Caller, workspace: Workspace, use: (id: string) => Promise<T>): Promise<T> {
    const { id } = await this.create(caller, workspace, "for copies");
    try {
      return await use(id);
    } finally {
      await this.delete(caller, id);
    }
  }

  list(caller: Caller, query: Omit<SnapshotQuery, "namespace" | "serverId">): Promise<SnapshotRecord[]> {
    return this.#parts.records.list({
      ...query,
      namespace: caller.principal.namespace,
      serverId: serverOf(caller),
    });
  }

  async get(caller: Caller, id: string): Promise<SnapshotRecord> {
    const record = this.#leaving.has(id) ? undefined : await this.#parts.records.get(id);
    const isOwn = record?.namespace === caller.principal.namespace && record.serverId === serverOf(caller);
    if (record === undefined || !isOwn) throw noSnapshot(id);
    return record;
  }

  async delete(caller: Caller, id: string): Promise<void> {
    const record = await this.get(caller, id);
    if (this.#inUse.has(id))
      throw new AppError("conflict", `snapshot ${id} is being read`, { hint: "try again when the restore has ended" });
    const { journal, records } = this.#parts;
    const { sandboxId } = record;
    this.#leaving.add(id);
    try {
      const deleted = { type: "snapshot.deleted", by: caller, sandboxId, data: { snapshot_id: id } } as const;
      await journal.record(deleted, (within) => records.delete(id, within));
    } finally {
      this.#leaving.delete(id);
    }
    this.#parts.sweeper.request();
  }

  /** Makes the workspace what it was: also that of another sandbox. */
  restore(caller: Caller, workspace: Workspace, id: string): Promise<RestoreOutcome> {
    return this.#reading(caller, id, ({ manifest }) =>
      this.#inTurn(workspace, async () => {
        await workspace.checkDisk(`snapshot ${id}`);
        const outcome = await restoreTree(this.#parts.blobs, workspace.files, manifest);
        const { removed, written, changed } = outcome;
        const data = { snapshot_id: id, removed, written, changed };
        await this.#parts.journal.record({ type: "snapshot.restored", by: caller, sandboxId: workspace.id, data });
        return outcome;
      }),
    );
  }

  /** What has changed in the workspace since. */
  diffLive(caller: Caller, id: string, workspace: Workspace): Promise<SnapshotDiff> {
    return this.#reading(caller, id, ({ manifest }) =>
      this.#inTurn(workspace, async () => {
        const before = await this.#entries(manifest);
        const { entries } = await scanWorkspace(workspace.files, () => undefined);
        return describeChanges(changesBetween(before, entries));
      }),
    );
  }

  /** What is different in the second. */
  diff(caller: Caller, id: string, otherId: string): Promise<SnapshotDiff> {
    return this.#reading(caller, id, ({ manifest }) =>
      this.#reading(caller, otherId, (other) =>
        this.#slots.with(async () =>
          describeChanges(changesBetween(await this.#entries(manifest), await this.#entries(other.manifest))),
        ),
      ),
    );
  }

  /** Names in their order, from after that path on. */
  entries(caller: Caller, id: string, page: { after?: string; limit: number }): Promise<TreeEntry[]> {
    return this.#reading(caller, id, async ({ manifest }) => {
      const found: TreeEntry[] = [];
      for await (const entry of readManifest(this.#parts.blobs, manifest)) {
        if (page.after !== undefined && comparePaths(entry.path, page.after) <= 0) continue;
        if (found.length >= page.limit) break;
        found.push(entry);
      }
      return found;
    });
  }

  /**
   * A file of it, whole or in part, as it was stored: without the values that its sandbox had then. Nothing more is masked,
   * since a mask would tell whoever wrote guesses into the file which of them is a secret (S86).
   */
  async read(caller: Caller, id: string, path: string, range: ReadOptions = {}): Promise<SnapshotFile> {
    const { blobs } = this.#parts;
    const entry = await this.#reading(caller, id, ({ manifest }) => findSnapshotFile(blobs, manifest, path));
    const bytes = readSnapshotFile(blobs, entry, range);
    return { sizeBytes: entry.size, bytes: this.#held(caller, id, bytes) };
  }

  /** Nobody can delete it until they are read. */
  async *#held(caller: Caller, id: string, bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const read = Promise.withResolvers<void>();
    const held = this.#reading(caller, id, () => read.promise);
    held.catch(() => undefined); // told below
    try {
      await this.get(caller, id);
      yield* bytes;
    } finally {
      read.resolve();
    }
  }

  #entries(manifest: string): Promise<TreeEntry[]> {
    return Array.fromAsync(readManifest(this.#parts.blobs, manifest));
  }

  #reading<T>(caller: Caller, id: string, act: (record: SnapshotRecord) => Promise<T>): Promise<T> {
    return counted(this.#inUse, id, async () => act(await this.get(caller, id)));
  }

  /** One at a time in a workspace, a few in all. */
  async #inTurn<T>({ id }: Workspace, act: () => Promise<T>): Promise<T> {
    const turn = this.#turns.get(id) ?? new Turn();
    this.#turns.set(id, turn);
    try {
      return await turn.take(() => this.#slots.with(act));
    } finally {
      if (!turn.busy) this.#turns.delete(id);
    }
  }

  async #checkRoom(namespace: string, sandboxId: string): Promise<void> {
    const { records, limits = snapshotLimits } = this.#parts;
    const { perNamespace, perSandbox, namespaceBytes } = limits;
    const coming = (this.#coming.get(namespace) ?? 1) - 1;
    const all = await records.usage({ namespace });
    const own = await records.usage({ namespace, sandboxId });
    if (all.count + coming >= perNamespace) throw full(`the namespace has ${perNamespace} snapshots already`);
    if (own.count >= perSandbox) throw full(`the sandbox has ${perSandbox} snapshots already`);
    if (all.addedBytes >= namespaceBytes) throw full(`the namespace's snapshots take ${namespaceBytes} bytes already`);
  }

  async #insert(caller: Caller, record: SnapshotRecord): Promise<void> {
    const { journal, records } = this.#parts;
    const { id, sandboxId, manifest, files, totalBytes, addedBytes } = record;
    const data = { snapshot_id: id, manifest, files, total_bytes: totalBytes, added_bytes: addedBytes };
    await journal.record({ type: "snapshot.created", by: caller, sandboxId, data }, (within) =>
      records.insert(record, within),
    );
  }
}

async function counted<T>(counts: Map<string, number>, key: string, act: () => Promise<T>): Promise<T> {
  counts.set(key, (counts.get(key) ?? 0) + 1);
  try {
    return await act();
  } finally {
    const left = (counts.get(key) ?? 1) - 1;
    if (left > 0) counts.set(key, left);
    else counts.delete(key);
  }
}

const serverOf = ({ serverId }: Caller): string | null => serverId ?? null;

function recordOf(
  caller: Caller,
  workspace: Workspace,
  description: string,
  { entries, manifest, totalBytes, addedBytes, summary }: TakenTree,
  nowMs: number,
): SnapshotRecord {
  const count = (...types: TreeEntry["type"][]) => entries.filter(({ type }) => types.includes(type)).length;
  return {
    id: randomUUID(),
    namespace: caller.principal.namespace,
    sandboxId: workspace.id,
    description,
    createdAtMs: nowMs,
    createdBy: caller.principal.id,
    manifest,
    files: count("file", "hard-link"),
    folders: count("directory"),
    links: count("link"),
    totalBytes,
    addedBytes,
    skipped: summary.skipped,
    unreadable: summary.unreadable,
    changed: summary.changed,
    serverId: serverOf(caller),
  };
}

function noSnapshot(id: string): AppError {
  return new AppError("not_found", `unknown snapshot ${id.slice(0, 64)}`);
}

function full(what: string): AppError {
  return new AppError("limit_exceeded", what, { hint: "delete unused snapshots first: caisson snapshot rm SNAPSHOT" });
}

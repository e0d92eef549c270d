import type { Blobs } from "../core/blob.ts";
import { AppError } from "../core/errors.ts";
import type { Recorder } from "../core/journal.ts";
import type { Caller } from "../core/principal.ts";
import {
  type InstalledSkill,
  type InstallOutcome,
  readReference,
  type SkillQuery,
  type SkillRecord,
  type SkillRecords,
} from "../core/skill.ts";
import { shownPath, type TreeEntry } from "../core/tree.ts";
import type { Clock } from "../lib/clock.ts";
import { Turn } from "../lib/turn.ts";
import { inflate } from "../tar/inflate.ts";
import { archiveLimits } from "../tar/limits.ts";
import { checkTarget } from "../tar/tar-reader.ts";
import { removeFormer } from "./former-skill.ts";
import { InUse } from "./in-use.ts";
import { isInstalled, skillMembers } from "./install-skill.ts";
import { readAhead } from "./read-ahead.ts";
import { readArchive } from "./read-archive.ts";
import { folderOf, readIndex, skillFolder, writeIndex } from "./skill-index.ts";
import { parseSkillText, type SkillText } from "./skill-text.ts";
import { skillLimits } from "./snapshot-limits.ts";
import type { Workspace } from "./snapshots.ts";
import type { Sweeper } from "./sweeper.ts";
import { treeArchive } from "./tree-archive.ts";
import { readManifest, writeManifest } from "./tree-manifest.ts";

export interface SkillParts {
  blobs: Blobs;
  records: SkillRecords;
  sweeper: Pick<Sweeper, "request">;
  journal: Recorder;
  clock: Clock;
}

/** Skills of a namespace: stored once, installed by id or name (IMG-05). */
export class Skills {
  readonly #parts: SkillParts;
  /** By namespace and id: what is being read cannot be deleted. */
  readonly #inUse = new InUse();
  /** By sandbox: the index of what is installed has one writer. */
  readonly #turns = new Map<string, Turn>();

  constructor(parts: SkillParts) {
    this.#parts = parts;
  }

  /** From a tar archive, plain or gzip, with SKILL.md at its top or in its only folder. The same files are the same skill. */
  async add(caller: Caller, archive: AsyncIterable<Uint8Array>): Promise<{ record: SkillRecord; isNew: boolean }> {
    const { namespace } = caller.principal;
    const { records, sweeper } = this.#parts;
    if ((await records.count(namespace)) >= skillLimits.perNamespace)
      throw new AppError("limit_exceeded", `too many skills in the namespace (limit: ${skillLimits.perNamespace})`, {
        hint: "delete unused skills first: caisson skill rm SKILL",
      });
    try {
      return await this.#store(caller, archive);
    } catch (error) {
      sweeper.request(); // of what came before the refusal
      throw error;
    }
  }

  async #store(caller: Caller, archive: AsyncIterable<Uint8Array>) {
    const { blobs, records, journal, clock } = this.#parts;
    const { namespace, id: createdBy } = caller.principal;
    await using session = blobs.begin();
    const { entries, bytes, depth } = skillLimits;
    const plain = inflate(bounded(archive), { ratio: archiveLimits.ratio.default, bytes: 2 * bytes });
    const found = await readArchive(plain, { entries, bytes, depth }, (chunk) =>
      session.put(chunk.digest, chunk.bytes),
    );
    const tree = withoutTop(found);
    const id = await writeManifest(session, tree);
    await session.commit();
    const { name, description, version } = await this.#text(tree);
    const files = tree.filter(({ type }) => type === "file");
    const record: SkillRecord = {
      id,
      namespace,
      name,
      version: version ?? id.slice(0, skillLimits.digestCharacters),
      description,
      files: files.length,
      totalBytes: files.reduce((total, { size }) => total + size, 0),
      createdAtMs: clock.wallMs(),
      createdBy,
    };
    const data = { skill_id: id, name, version: record.version, files: record.files };
    try {
      await journal.record({ type: "skill.created", by: caller, data }, (within) => records.insert(record, within));
    } catch (error) {
      if (!(error instanceof AppError && error.code === "conflict")) throw error;
      return { record: await this.#sameFiles(record), isNew: false };
    }
    return { record, isNew: true };
  }

  /** A version that is there stays what it is. */
  async #sameFiles({ namespace, id, name, version }: SkillRecord): Promise<SkillRecord> {
    const record = await this.#parts.records.get(namespace, id);
    if (record === undefined)
      throw new AppError("conflict", `skill ${name}@${version} already exists with other files`, {
        hint: "set another version in SKILL.md, or delete the existing skill first",
      });
    return record;
  }

  async #text(tree: readonly TreeEntry[]): Promise<SkillText> {
    const entry = tree.find(({ path, type }) => path === "SKILL.md" && type === "file");
    if (entry === undefined)
      throw new AppError("invalid", "the archive is refused: it has no SKILL.md at its top or in its only folder");
    if (entry.size > skillLimits.textBytes)
      throw new AppError("invalid", `SKILL.md is refused: it is larger than ${skillLimits.textBytes} bytes`);
    const parts = await Promise.all(entry.chunks.map((digest) => this.#parts.blobs.read(digest)));
    return parseSkillText(Buffer.concat(parts).toString("utf8"));
  }

  list(caller: Caller, query: Omit<SkillQuery, "namespace">): Promise<SkillRecord[]> {
    return this.#parts.records.list({ ...query, namespace: caller.principal.namespace });
  }

  /** By its id, its name (the newest) or `name@version`. */
  async get(caller: Caller, reference: string): Promise<SkillRecord> {
    const { records } = this.#parts;
    const { namespace } = caller.principal;
    const asked = readReference(reference);
    const [record] =
      "id" in asked ? [await records.get(namespace, asked.id)] : await records.list({ namespace, ...asked, limit: 1 });
    if (record === undefined || this.#inUse.isLeaving(keyOf(record)))
      throw new AppError("not_found", `unknown skill ${reference.slice(0, 129)}`, {
        hint: "caisson skill list lists skills",
      });
    return record;
  }

  /** What is in it: names, kinds, sizes and hashes. */
  files(caller: Caller, reference: string): Promise<TreeEntry[]> {
    return this.#reading(caller, reference, (record) => this.#tree(record));
  }

  /** A file of it. */
  async read(caller: Caller, reference: string, path: string): Promise<SkillFile> {
    const record = await this.get(caller, reference);
    const entry = (await this.files(caller, record.id)).find(
      (one) => one.type === "file" && shownPath(one.path) === path,
    );
    if (entry === undefined)
      throw new AppError("not_found", `skill ${record.name} has no file '${path.slice(0, 256)}'`);
    return { record, sizeBytes: entry.size, bytes: this.#bytes(caller, record, entry.chunks) };
  }

  /** It cannot be deleted while they are read. */
  async *#bytes(caller: Caller, { id }: SkillRecord, chunks: readonly string[]): AsyncGenerator<Buffer> {
    using _ = this.#inUse.read(keyOf({ namespace: caller.principal.namespace, id }));
    await this.get(caller, id);
    yield* readAhead(this.#parts.blobs, chunks);
  }

  /** Where it is installed it stays. By name alone only where there is one version. */
  async delete(caller: Caller, reference: string): Promise<void> {
    const record = await this.get(caller, reference);
    const { id, name, version, namespace } = record;
    const { records, journal, sweeper } = this.#parts;
    if (reference === name && (await records.list({ namespace, name, limit: 2 })).length > 1)
      throw new AppError("conflict", `several versions of skill ${name} exist`, {
        hint: `name one, such as ${name}@${version}`,
      });
    await this.#inUse.leaving(keyOf(record), `the skill ${name}`, async () => {
      const data = { skill_id: id, name, version };
      await journal.record({ type: "skill.deleted", by: caller, data }, (within) =>
        records.delete(namespace, id, within),
      );
    });
    sweeper.request();
  }

  /** All are known, or none is installed. Into /workspace/skills/NAME; an older version makes room. */
  async install(caller: Caller, workspace: Workspace, references: readonly string[]): Promise<InstallOutcome> {
    if (references.length > skillLimits.installed)
      throw new AppError("invalid", `too many skills (limit: ${skillLimits.installed} per call)`);
    const records = new Map<string, SkillRecord>();
    for (const reference of new Set(references)) {
      const record = await this.get(caller, reference);
      const other = records.get(record.name);
      if (other !== undefined && other.id !== record.id)
        throw new AppError("invalid", `cannot install two versions of skill ${record.name} in one sandbox`);
      records.set(record.name, record);
    }
    return this.#inTurn(workspace, () => this.#installAll(caller, workspace, [...records.values()]));
  }

  /** As the sandbox's index says, which code in it may have changed. */
  installed(workspace: Workspace): Promise<InstalledSkill[]> {
    return readIndex(workspace.files);
  }

  async #installAll(caller: Caller, workspace: Workspace, records: readonly SkillRecord[]): Promise<InstallOutcome> {
    const outcome: InstallOutcome = { installed: [], alreadyInstalled: [], skills: [] };
    const before = await readIndex(workspace.files);
    for (const { id, name, version, description } of records) {
      const former = before.find((one) => one.name === name && one.id !== id);
      const isNew = await this.#reading(caller, id, (record) => this.#install(caller, workspace, record, former?.id));
      (isNew ? outcome.installed : outcome.alreadyInstalled).push(name);
      outcome.skills.push({ name, version, description, path: folderOf(name), id });
    }
    await writeIndex(workspace.files, outcome.skills);
    return outcome;
  }

  /** Every byte is checked against the skill's digest on its way: the id names the list, which names the files' chunks. */
  async #install(caller: Caller, workspace: Workspace, record: SkillRecord, formerId?: string): Promise<boolean> {
    const { blobs, journal } = this.#parts;
    const { id, name, version } = record;
    const path = `${skillFolder}/${name}`;
    const tree = await this.#tree(record);
    if (await isInstalled(workspace.files, path, tree)) return false;
    await workspace.files.unpack(path, treeArchive(blobs, skillMembers(tree)), { replace: true });
    if (formerId !== undefined) {
      const former = await this.#formerTree(caller, formerId, name);
      await removeFormer(workspace.files, path, { former, current: tree });
    }
    const data = { skill_id: id, name, version };
    await journal.record({ type: "skill.installed", by: caller, sandboxId: workspace.id, data });
    return true;
  }

  #tree({ id }: SkillRecord): Promise<TreeEntry[]> {
    return Array.fromAsync(readManifest(this.#parts.blobs, id));
  }

  /** The sandbox says what was there: only a skill of that name counts, and one that is deleted left its files to the user. */
  async #formerTree(caller: Caller, id: string, name: string): Promise<TreeEntry[]> {
    try {
      return await this.#reading(caller, id, (record) =>
        record.name === name ? this.#tree(record) : Promise.resolve([]),
      );
    } catch (error) {
      if (error instanceof AppError && error.code === "not_found") return [];
      throw error;
    }
  }

  async #reading<T>(caller: Caller, reference: string, act: (record: SkillRecord) => Promise<T>): Promise<T> {
    const { id, namespace } = await this.get(caller, reference);
    return this.#inUse.reading(keyOf({ id, namespace }), async () => act(await this.get(caller, id)));
  }

  async #inTurn<T>({ id }: Workspace, act: () => Promise<T>): Promise<T> {
    const turn = this.#turns.get(id) ?? new Turn();
    this.#turns.set(id, turn);
    try {
      return await turn.take(act);
    } finally {
      if (!turn.busy) this.#turns.delete(id);
    }
  }
}

interface SkillFile {
  record: SkillRecord;
  sizeBytes: number;
  bytes: AsyncIterable<Buffer>;
}

function keyOf({ namespace, id }: Pick<SkillRecord, "namespace" | "id">): string {
  return `${namespace}/${id}`;
}

async function* bounded(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of archive) {
    bytes += piece.length;
    if (bytes > skillLimits.uploadBytes)
      throw new AppError(
        "too_large",
        `the archive of the skill is too large (limit: ${skillLimits.uploadBytes} bytes)`,
      );
    yield piece;
  }
}

/** An archive of one folder, which holds SKILL.md, is that folder. */
function withoutTop(entries: TreeEntry[]): TreeEntry[] {
  const [top] = entries;
  if (top?.type !== "directory" || !entries.every(({ path }) => path === top.path || path.startsWith(`${top.path}/`)))
    return entries;
  const inside = entries.slice(1).map((entry) => ({ ...entry, path: entry.path.slice(top.path.length + 1) }));
  for (const { type, path, target } of inside) if (type === "link") checkTarget(path, path.split("/").length, target);
  return inside;
}

import { type Audit, entryOf, type Note } from "../core/audit.ts";
import type { Blobs } from "../core/blob.ts";
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { Feed } from "../core/feed.ts";
import { archiveLimits } from "../core/limits.ts";
import type { Caller } from "../core/principal.ts";
import type { InstallOutcome, SkillQuery, SkillRecord, SkillRecords } from "../core/skill.ts";
import { skillLimits } from "../core/snapshot-limits.ts";
import type { TreeEntry } from "../core/tree.ts";
import { inflate } from "../tar/inflate.ts";
import { checkTarget } from "../tar/tar-reader.ts";
import { isInstalled, skillMembers } from "./install-skill.ts";
import { readArchive } from "./read-archive.ts";
import { parseSkillText, type SkillText } from "./skill-text.ts";
import type { Workspace } from "./snapshots.ts";
import type { Sweeper } from "./sweeper.ts";
import { treeArchive } from "./tree-archive.ts";
import { readManifest, writeManifest } from "./tree-manifest.ts";

export interface SkillParts {
  blobs: Blobs;
  records: SkillRecords;
  sweeper: Pick<Sweeper, "request">;
  audit: Pick<Audit, "record">;
  feed: Pick<Feed, "publish">;
  clock: Clock;
}

/** Where skills go, each in a folder of its name. */
const folder = "skills";

/** Skills of a namespace: stored once, installed by id (IMG-05). */
export class Skills {
  readonly #parts: SkillParts;

  constructor(parts: SkillParts) {
    this.#parts = parts;
  }

  /** From a tar archive, plain or gzip, with SKILL.md at its top or in its only folder. The same files are the same skill. */
  async add(caller: Caller, archive: AsyncIterable<Uint8Array>): Promise<{ record: SkillRecord; isNew: boolean }> {
    const { namespace } = caller.principal;
    const { records, sweeper } = this.#parts;
    if ((await records.count(namespace)) >= skillLimits.perNamespace)
      throw new AppError("limit_exceeded", `the namespace has ${skillLimits.perNamespace} skills already`, {
        hint: "delete some first",
      });
    try {
      return await this.#store(caller, archive);
    } catch (error) {
      sweeper.request(); // of what came before the refusal
      throw error;
    }
  }

  async #store(caller: Caller, archive: AsyncIterable<Uint8Array>) {
    const { blobs, records, clock } = this.#parts;
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
    const { name, description } = await this.#text(tree);
    const files = tree.filter(({ type }) => type === "file");
    const record: SkillRecord = {
      id,
      namespace,
      name,
      description,
      files: files.length,
      totalBytes: files.reduce((total, { size }) => total + size, 0),
      createdAtMs: clock.wallMs(),
      createdBy,
    };
    const isNew = await records.insert(record);
    if (!isNew) return { record: await this.get(caller, id), isNew };
    try {
      await this.#note(caller, { type: "skill.created", detail: { skill_id: id, name, files: record.files } });
    } catch (error) {
      await records.delete(namespace, id); // what the log cannot hold does not happen
      throw error;
    }
    return { record, isNew };
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

  async get(caller: Caller, id: string): Promise<SkillRecord> {
    const record = await this.#parts.records.get(caller.principal.namespace, id);
    if (record === undefined) throw new AppError("not_found", `there is no skill ${id.slice(0, 64)}`);
    return record;
  }

  /** Where it is installed it stays. */
  async delete(caller: Caller, id: string): Promise<void> {
    const { name } = await this.get(caller, id);
    await this.#note(caller, { type: "skill.deleted", detail: { skill_id: id, name } });
    await this.#parts.records.delete(caller.principal.namespace, id);
    this.#parts.sweeper.request();
  }

  /** All are known, or none is installed. Into /workspace/skills/NAME; files of an older version are replaced. */
  async install(caller: Caller, workspace: Workspace, ids: readonly string[]): Promise<InstallOutcome> {
    if (ids.length > skillLimits.installed)
      throw new AppError("invalid", `at most ${skillLimits.installed} skills are installed by one call`);
    const records: SkillRecord[] = [];
    for (const id of new Set(ids)) records.push(await this.get(caller, id));
    const outcome: InstallOutcome = { installed: [], alreadyInstalled: [] };
    for (const record of records) {
      const isNew = await this.#install(caller, workspace, record);
      (isNew ? outcome.installed : outcome.alreadyInstalled).push(record.name);
    }
    return outcome;
  }

  async #install(caller: Caller, workspace: Workspace, { id, name }: SkillRecord): Promise<boolean> {
    const { blobs, feed } = this.#parts;
    const path = `${folder}/${name}`;
    const tree = await Array.fromAsync(readManifest(blobs, id));
    if (await isInstalled(workspace.files, path, tree)) return false;
    await workspace.files.unpack(path, treeArchive(blobs, skillMembers(tree)), { replace: true });
    const data = { skill_id: id, name };
    await this.#note(caller, { type: "skill.installed", sandboxId: workspace.id, detail: data });
    feed.publish({ type: "skill.installed", namespace: caller.principal.namespace, sandboxId: workspace.id, data });
    return true;
  }

  async #note(caller: Caller, note: Note): Promise<void> {
    await this.#parts.audit.record(entryOf(caller, note));
  }
}

async function* bounded(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of archive) {
    bytes += piece.length;
    if (bytes > skillLimits.uploadBytes)
      throw new AppError("too_large", `a skill's archive has at most ${skillLimits.uploadBytes} bytes`);
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

import { createHash } from "node:crypto";
import type { BlobSession, Blobs } from "../core/blob.ts";
import { AppError } from "../core/errors.ts";
import type { FileInfo } from "../core/file.ts";
import type { Recorder } from "../core/journal.ts";
import type { KeptArtifacts, KeptArtifactsQuery, KeptArtifactsRecords } from "../core/kept-artifacts.ts";
import type { Artifact } from "../core/manifest.ts";
import type { Caller } from "../core/principal.ts";
import type { SandboxRecord } from "../core/sandbox-record.ts";
import { comparePaths, shownPath, type TreeEntry } from "../core/tree.ts";
import type { Clock } from "../lib/clock.ts";
import { listOutput } from "./artifacts.ts";
import { InUse } from "./in-use.ts";
import { readAhead } from "./read-ahead.ts";
import type { Sandbox } from "./sandbox.ts";
import { keptArtifactLimits } from "./snapshot-limits.ts";
import type { Sweeper } from "./sweeper.ts";
import { readManifest, writeManifest } from "./tree-manifest.ts";

const folder = "/workspace/output";

interface KeeperParts {
  blobs: Blobs;
  records: KeptArtifactsRecords;
  sweeper: Pick<Sweeper, "request">;
  journal: Recorder;
  clock: Clock;
}

/** Artifacts of sandboxes that are gone. A caller sees those of its own namespace, until their time is over. */
export class ArtifactKeeper {
  readonly #parts: KeeperParts;
  readonly #inUse = new InUse();

  constructor(parts: KeeperParts) {
    this.#parts = parts;
  }

  /** Reads them out of a sandbox that is about to end. Gives up after a while: whoever ends it waits. */
  async keep(owner: SandboxRecord, sandbox: Pick<Sandbox, "files" | "limits">): Promise<KeptArtifacts> {
    const deadline = Promise.withResolvers<never>();
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      deadline.reject(new AppError("timeout", "the artifacts could not be read in time"));
    }, keptArtifactLimits.timeoutMs);
    const kept = this.#keep(owner, sandbox, () => late);
    kept.catch(() => undefined); // told by the deadline
    try {
      return await Promise.race([kept, deadline.promise]);
    } catch (error) {
      this.#parts.sweeper.request(); // of what came before
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #keep(
    { id, namespace, createdBy, keepArtifactsMs }: SandboxRecord,
    { files, limits }: Pick<Sandbox, "files" | "limits">,
    isLate: () => boolean,
  ): Promise<KeptArtifacts> {
    const { blobs, records, clock } = this.#parts;
    const { perNamespace, namespaceBytes } = keptArtifactLimits;
    const usage = await records.usage(namespace);
    if (usage.count >= perNamespace)
      throw new AppError(
        "limit_exceeded",
        `too many sandboxes with kept artifacts in the namespace (limit: ${perNamespace})`,
      );
    await using session = blobs.begin();
    const budget = { left: Math.min(limits.storageBytes, namespaceBytes - usage.totalBytes) };
    const entries: TreeEntry[] = [];
    for (const info of await listFiles(files))
      entries.push(await storeFile(session, info, files.read(`${folder}/${info.name}`), budget));
    entries.sort((one, other) => comparePaths(one.path, other.path));
    const manifest = await writeManifest(session, entries);
    await session.commit();
    if (isLate()) throw new AppError("timeout", "the artifacts could not be read in time");
    const now = clock.wallMs();
    const totalBytes = entries.reduce((sum, { size }) => sum + size, 0);
    const times = { createdAtMs: now, expiresAtMs: now + keepArtifactsMs };
    const kept: KeptArtifacts = { id, namespace, manifest, files: entries.length, totalBytes, ...times, createdBy };
    await records.put(kept);
    return kept;
  }

  async list(caller: Caller, query: Omit<KeptArtifactsQuery, "namespace">): Promise<KeptArtifacts[]> {
    const found = await this.#parts.records.list({ ...query, namespace: caller.principal.namespace });
    return found.filter((kept) => !this.#isOver(kept));
  }

  async files(caller: Caller, id: string): Promise<Artifact[]> {
    const { manifest } = await this.#get(caller, id);
    const entries = await Array.fromAsync(readManifest(this.#parts.blobs, manifest));
    return entries.map(({ path, size, sha256 }) => ({ path: shownPath(path), size_bytes: size, sha256 }));
  }

  async read(caller: Caller, id: string, path: string): Promise<{ sizeBytes: number; bytes: AsyncIterable<Buffer> }> {
    const { manifest } = await this.#get(caller, id);
    const wanted = toBytes(path);
    for await (const entry of readManifest(this.#parts.blobs, manifest))
      if (entry.path === wanted) return { sizeBytes: entry.size, bytes: this.#bytes(caller, id, entry.chunks) };
    throw new AppError("not_found", `sandbox ${id} has no artifact '${path.slice(0, 256)}'`);
  }

  /** Whose time is over meanwhile stays until they are read. */
  async *#bytes(caller: Caller, id: string, chunks: readonly string[]): AsyncGenerator<Buffer> {
    using _ = this.#inUse.read(id);
    await this.#get(caller, id);
    yield* readAhead(this.#parts.blobs, chunks);
  }

  async delete(caller: Caller, id: string): Promise<void> {
    const { files } = await this.#get(caller, id);
    const { journal, records, sweeper } = this.#parts;
    await journal.record({ type: "artifacts.deleted", by: caller, sandboxId: id, data: { files } }, (within) =>
      records.delete(id, undefined, within),
    );
    sweeper.request();
  }

  /** Removes those whose time is over and that nobody reads; what they held goes soon. */
  async expire(): Promise<void> {
    if ((await this.forgetExpired()) > 0) this.#parts.sweeper.request();
  }

  /** As expire, and what they held is left to the next sweep. Says how many. */
  async forgetExpired(): Promise<number> {
    const { journal, records, clock } = this.#parts;
    const now = clock.wallMs();
    const over = (await records.expired(now)).filter(({ id }) => !this.#inUse.isRead(id));
    for (const { id, namespace, files } of over) {
      const expired = { type: "artifacts.expired", by: "system", namespace, sandboxId: id, data: { files } } as const;
      await journal.record(expired, (within) => records.delete(id, now, within));
    }
    return over.length;
  }

  async #get(caller: Caller, id: string): Promise<KeptArtifacts> {
    const kept = await this.#parts.records.get(id);
    if (kept === undefined || kept.namespace !== caller.principal.namespace || this.#isOver(kept))
      throw new AppError("not_found", `no kept artifacts of sandbox ${id.slice(0, 64)}`, {
        hint: "artifacts are kept after a sandbox is destroyed, for the keep_artifacts_seconds that it was created with",
      });
    return kept;
  }

  #isOver({ expiresAtMs }: KeptArtifacts): boolean {
    return expiresAtMs <= this.#parts.clock.wallMs();
  }
}

/** A name that is not text leads back to no file. */
async function listFiles(files: Sandbox["files"]): Promise<FileInfo[]> {
  const plain = (await listOutput(files)).filter(({ name }) => !name.includes("\ufffd"));
  if (plain.length > keptArtifactLimits.files)
    throw new AppError("limit_exceeded", `too many files in /workspace/output (limit: ${keptArtifactLimits.files})`);
  return plain;
}

async function storeFile(
  session: BlobSession,
  { name, mode, mtimeMs, size: told }: FileInfo,
  bytes: AsyncIterable<Buffer>,
  budget: { left: number },
): Promise<TreeEntry> {
  if (told > budget.left) throw tooMuch(); // a sparse file says so at once
  const whole = createHash("sha256");
  const chunks: string[] = [];
  let pieces: Buffer[] = [];
  let held = 0;
  let size = 0;
  const flush = async () => {
    const chunk = Buffer.concat(pieces);
    pieces = [];
    held = 0;
    const digest = createHash("sha256").update(chunk).digest("hex");
    chunks.push(digest);
    await session.put(digest, chunk);
  };
  for await (const piece of bytes) {
    size += piece.length;
    budget.left -= piece.length;
    if (budget.left < 0) throw tooMuch();
    whole.update(piece);
    pieces.push(Buffer.from(piece));
    held += piece.length;
    if (held >= keptArtifactLimits.chunkBytes) await flush();
  }
  if (held > 0) await flush();
  const mtimeNs = BigInt(Math.trunc(mtimeMs)) * 1_000_000n;
  const sha256 = whole.digest("hex");
  return { type: "file", path: toBytes(name), mode: mode & 0o777, mtimeNs, size, sha256, chunks, target: "" };
}

function tooMuch(): AppError {
  return new AppError("limit_exceeded", "the artifacts are larger than the limit for kept artifacts");
}

/** As trees have their names: bytes, one to a character. */
function toBytes(path: string): string {
  return Buffer.from(path, "utf8").toString("latin1");
}

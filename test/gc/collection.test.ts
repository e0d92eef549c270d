import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Collector } from "../../packages/server/src/core/gc.ts";
import type { News, Recorder } from "../../packages/server/src/core/journal.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { GarbageCollection } from "../../packages/server/src/sandboxes/gc/collection.ts";
import { downloadCollector } from "../../packages/server/src/sandboxes/gc/download-collector.ts";
import { Watermark } from "../../packages/server/src/sandboxes/gc/watermark.ts";
import { FileBlobs } from "../../packages/server/src/store/blobs.ts";
import { diskRoom } from "../../packages/server/src/store/disk-room.ts";
import { FileDownloads } from "../../packages/server/src/store/downloads.ts";
import { noJournal } from "../journal.ts";

const fail = (error: unknown) => {
  throw error;
};

describe("a collection", () => {
  let folder: string;
  let entries: News[];
  beforeEach(async () => {
    folder = await mkdtemp("/var/tmp/caisson-gc-");
    entries = [];
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  const disk = () => diskRoom(folder);
  const journal: Recorder = {
    record: async (news) => void entries.push(news),
    recordAll: async (news) => void entries.push(...news),
    tell: () => undefined,
    requireRoom: () => undefined,
  };
  const admin = {
    principal: { id: "key", name: "admin", namespace: "default", role: "admin" },
    requestId: "request",
  } as const;
  const collectionOf = (collectors: Collector[], onError: (error: unknown) => void = fail) =>
    new GarbageCollection({ collectors, disk, journal, onError });

  const openDownloads = async (...names: string[]) => {
    const downloads = await FileDownloads.open(join(folder, "downloads"), { mostBytes: 1_000_000, onError: fail });
    for (const name of names) await keep(downloads, name);
    return downloads;
  };
  const keep = async (downloads: FileDownloads, name: string) => {
    await using draft = await downloads.keep(name, 1_000);
    await draft?.write(Buffer.alloc(1_000, name));
    await draft?.commit();
  };

  it("[S77] tells of what it did, in the journal; a dry run does and records nothing", async () => {
    const downloads = await openDownloads("a", "b");
    const collection = collectionOf([downloadCollector(downloads, { mostBytes: 1_000_000 })]);
    const dry = await collection.run(admin, { dryRun: true, cache: true });
    expect(dry).toMatchObject({ dryRun: true, freed: { bytes: 2_000 } });
    expect([entries, downloads.heldBytes()]).toEqual([[], 2_000]);
    const plain = await collection.run(admin);
    expect(plain).toMatchObject({ trigger: "asked", freed: { items: 0, bytes: 0 } });
    expect(await collection.run(admin, { cache: true })).toMatchObject({ freed: { items: 2, bytes: 2_000 } });
    expect(entries.map(({ type, by }) => [type, by])).toEqual(
      ["gc.started", "gc.completed", "gc.started", "gc.completed"].map((type) => [type, admin]),
    );
    expect(entries.at(-1)?.data).toEqual({ trigger: "asked", freed_items: 2, freed_bytes: 2_000 });
    expect(await readdir(join(folder, "downloads"))).toEqual([]);
  });

  it("[S77] that cannot be written down removes nothing", async () => {
    const downloads = await openDownloads("a");
    const collectors = [downloadCollector(downloads, { mostBytes: 1_000_000 })];
    const collection = new GarbageCollection({ collectors, disk, journal: noJournal, onError: fail });
    await expect(collection.run(admin, { cache: true })).rejects.toThrow("no journal");
    expect(downloads.heldBytes()).toBe(1_000);
  });

  it("goes on where one kind fails, and says which", async () => {
    const downloads = await openDownloads("a");
    const failing: Collector = {
      kind: "broken",
      budgetBytes: 1,
      look: () => Promise.reject(new Error("disk")),
      collect: fail,
    };
    const errors: unknown[] = [];
    const collectors = [failing, downloadCollector(downloads, { mostBytes: 1_000_000 })];
    const { kinds } = await collectionOf(collectors, (error) => void errors.push(error)).run(admin, { cache: true });
    expect(kinds).toMatchObject([
      { kind: "broken", error: "it failed; the log says why" },
      { kind: "downloads", freed: { items: 1 }, error: null },
    ]);
    expect(errors).toMatchObject([{ message: "disk" }]);
  });

  it("takes of what can be fetched again only what is past its budget, the longest unasked-for first", async () => {
    const downloads = await openDownloads("a", "b", "c");
    await downloads.find("a").then((found) => found?.read().resume());
    const collection = collectionOf([downloadCollector(downloads, { mostBytes: 2_000 })]);
    expect(await collection.overBudget()).toEqual(["downloads"]);
    expect(await collection.run(admin)).toMatchObject({ freed: { items: 1, bytes: 1_000 } });
    expect(await collection.overBudget()).toEqual([]);
    expect(await downloads.find("b")).toBeUndefined();
    for (const name of ["a", "c"]) (await downloads.find(name))?.read().resume();
    expect(downloads.heldBytes()).toBe(2_000);
  });

  it("[S77] leaves whoever reads a download its bytes, and what is downloaded meanwhile its place", async () => {
    const downloads = await openDownloads("a");
    const found = await downloads.find("a");
    await using draft = await downloads.keep("b", 1_000);
    const collection = collectionOf([downloadCollector(downloads, { mostBytes: 1_000_000 })]);
    await draft?.write(Buffer.alloc(500, "b"));
    expect(await collection.run(admin, { cache: true })).toMatchObject({ freed: { items: 1 } });
    await draft?.write(Buffer.alloc(500, "b"));
    await Promise.all([draft?.commit(), collection.run(admin)]);
    expect(Buffer.concat((await found?.read().toArray()) ?? []).toString()).toBe("a".repeat(1_000));
    const kept = await downloads.find("b");
    expect(Buffer.concat((await kept?.read().toArray()) ?? []).toString()).toBe("b".repeat(1_000));
    await keep(downloads, "a");
    expect(downloads.heldBytes()).toBe(2_000);
  });

  it("[S77] of chunks leaves those of a session that begins while it runs", async () => {
    const blobs = await FileBlobs.open(join(folder, "blobs"));
    const [old, fresh] = [randomBytes(1_000), randomBytes(1_000)];
    const digestOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
    const put = async (...all: Buffer[]) => {
      await using session = blobs.begin();
      for (const bytes of all) await session.put(digestOf(bytes), bytes);
      await session.commit();
    };
    await put(old);
    expect(await blobs.look(async () => undefined)).toMatchObject({ removed: 1, kept: 0, removedBytes: 1_001 });
    await blobs.read(digestOf(old));
    const session = blobs.begin();
    const swept = await blobs.sweep(async () => {
      await session.put(digestOf(old), old);
      await session.put(digestOf(fresh), fresh);
      await session.commit();
    });
    expect(swept).toEqual({ removed: 0, kept: 2, removedBytes: 0 });
    await session[Symbol.asyncDispose]();
    expect(await blobs.sweep(async () => undefined)).toEqual({ removed: 2, kept: 0, removedBytes: 2_002 });
  });

  it("[S77] begins by itself at the watermark, and not below it", async () => {
    const downloads = await openDownloads("a", "b");
    const collection = collectionOf([downloadCollector(downloads, { mostBytes: 1_000_000 })]);
    const parts = { collection, disk, clock: systemClock, onError: fail };
    await new Watermark({ ...parts, watermarkPercent: 100.1 })[Symbol.asyncDispose]();
    expect([entries, downloads.heldBytes()]).toEqual([[], 2_000]);
    await new Watermark({ ...parts, watermarkPercent: 0 })[Symbol.asyncDispose]();
    expect(entries.map(({ type, by }) => [type, by])).toMatchObject([
      ["gc.started", { principal: { id: "system" }, requestId: "" }],
      ["gc.completed", { principal: { id: "system" }, requestId: "" }],
    ]);
    expect(entries[1]?.data).toMatchObject({ trigger: "watermark", freed_items: 2 });
    expect(downloads.heldBytes()).toBe(0);
    await new Watermark({ ...parts, watermarkPercent: 0 })[Symbol.asyncDispose]();
    expect(entries).toHaveLength(2); // nothing to do is nothing to tell
  });
});

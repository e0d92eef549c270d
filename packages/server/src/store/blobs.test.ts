import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileBlobs } from "./blobs.ts";

const digestOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

describe("blobs", () => {
  let folder: string;
  let blobs: FileBlobs;
  beforeEach(async () => {
    folder = await mkdtemp("/var/tmp/caisson-blobs-");
    blobs = await FileBlobs.open(folder);
  });
  afterEach(() => rm(folder, { recursive: true }));

  const put = async (...all: Buffer[]) => {
    await using session = blobs.begin();
    for (const bytes of all) await session.put(digestOf(bytes), bytes);
    await session.commit();
    return session.addedBytes;
  };
  const nothing = async () => undefined;

  it("come back whole, and are compressed where that helps", async () => {
    const noise = randomBytes(100_000);
    const text = Buffer.from("all work and no play ".repeat(5_000));
    const empty = Buffer.alloc(0);
    const added = await put(noise, text, empty);
    for (const bytes of [noise, text, empty]) expect((await blobs.read(digestOf(bytes))).equals(bytes)).toBe(true);
    expect(added).toBeGreaterThan(100_000);
    expect(added).toBeLessThan(105_000);
    expect(await readdir(join(folder, "new"))).toEqual([]);
  });

  it("are stored once, by any number of sessions at once", async () => {
    const bytes = randomBytes(10_000);
    expect(await put(bytes, bytes)).toBeLessThan(11_000);
    expect(await put(bytes)).toBe(0);
    const other = randomBytes(10_000);
    await Promise.all(Array.from({ length: 5 }, () => put(other, bytes)));
    expect((await blobs.read(digestOf(other))).equals(other)).toBe(true);
  });

  it("that are damaged or swapped are refused", async () => {
    const [one, two] = [randomBytes(1000), Buffer.alloc(50_000, "x")];
    await put(one, two);
    const path = blobs.path(digestOf(one));
    const stored = await readFile(path);
    const flipped = Buffer.from(stored);
    flipped.writeUInt8((flipped[500] ?? 0) ^ 1, 500);
    const swapped = await readFile(blobs.path(digestOf(two)));
    for (const bytes of [flipped, swapped, stored.subarray(0, 900), Buffer.alloc(0)]) {
      await writeFile(path, bytes);
      await expect(blobs.read(digestOf(one))).rejects.toMatchObject({ code: "internal", message: /damaged/ });
    }
    await rm(path);
    await expect(blobs.read(digestOf(one))).rejects.toMatchObject({ code: "internal", message: /ENOENT/ });
    await expect(blobs.read("../../etc/passwd")).rejects.toMatchObject({ code: "internal" });
  });

  it("that unpack to more than one may have are refused, whatever their hash", async () => {
    const large = Buffer.alloc(9 * 1024 ** 2);
    await put(large);
    await expect(blobs.read(digestOf(large))).rejects.toMatchObject({ code: "internal", message: /damaged/ });
  });

  it("that nothing refers to are swept, and no others", async () => {
    const [kept, gone] = [randomBytes(100), randomBytes(100)];
    await put(kept, gone);
    expect(await blobs.sweep(async (live) => live(digestOf(kept)))).toMatchObject({ removed: 1, kept: 1 });
    expect((await blobs.read(digestOf(kept))).equals(kept)).toBe(true);
    await expect(blobs.read(digestOf(gone))).rejects.toThrow(/ENOENT/);
  });

  it("of a sweep whose marks cannot be read all stay", async () => {
    const bytes = randomBytes(100);
    await put(bytes);
    const failing = blobs.sweep(async () => {
      throw new Error("no marks");
    });
    await expect(failing).rejects.toThrow("no marks");
    expect((await blobs.read(digestOf(bytes))).equals(bytes)).toBe(true);
  });

  it("of a session are safe from a sweep, new ones and those that were there before", async () => {
    const [old, fresh] = [randomBytes(100), randomBytes(100)];
    await put(old);
    {
      await using session = blobs.begin();
      await session.put(digestOf(old), old);
      await session.put(digestOf(fresh), fresh);
      await session.commit();
      expect(await blobs.sweep(nothing)).toMatchObject({ removed: 0, kept: 2 });
    }
    expect(await blobs.sweep(nothing)).toMatchObject({ removed: 2, kept: 0 });
  });

  it("of a session that ends while a sweep has looked already are safe from that sweep", async () => {
    const bytes = randomBytes(100);
    const looked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const session = blobs.begin();
    await session.put(digestOf(bytes), bytes);
    await session.commit();
    const sweep = blobs.sweep(async () => {
      looked.resolve();
      await goOn.promise;
    });
    await looked.promise;
    await session[Symbol.asyncDispose](); // by now something refers to it, which the sweep has not seen
    goOn.resolve();
    expect(await sweep).toMatchObject({ removed: 0, kept: 1 });
  });

  it("that come and go under sweeps are never missing", async () => {
    const all = Array.from({ length: 20 }, () => randomBytes(50));
    let sweeping = true;
    const sweeps = (async () => {
      while (sweeping) await blobs.sweep(nothing);
    })();
    for (let round = 0; round < 30; round++) {
      await using session = blobs.begin();
      for (const bytes of all) await session.put(digestOf(bytes), bytes);
      await session.commit();
      for (const bytes of all) expect((await blobs.read(digestOf(bytes))).equals(bytes)).toBe(true);
    }
    sweeping = false;
    await sweeps;
  });

  it("that a killed process left half written are gone at the next start", async () => {
    await writeFile(join(folder, "new", "half"), "x");
    await FileBlobs.open(folder);
    expect(await readdir(join(folder, "new"))).toEqual([]);
  });

  it("that cannot be written end the session with the reason, and leave nothing", async () => {
    await using session = blobs.begin();
    await rm(join(folder, "new"), { recursive: true });
    await writeFile(join(folder, "new"), ""); // where a folder should be
    await session.put(digestOf(Buffer.from("x")), Buffer.from("x"));
    await expect(session.commit()).rejects.toThrow(/ENOTDIR/);
    expect(await blobs.sweep(nothing)).toMatchObject({ removed: 0, kept: 0 });
  });

  it("would leave the host without room are refused", async () => {
    blobs = await FileBlobs.open(folder, { reserveBytes: Number.MAX_SAFE_INTEGER });
    await expect(put(randomBytes(10))).rejects.toMatchObject({ code: "limit_exceeded", message: /room/ });
  });
});

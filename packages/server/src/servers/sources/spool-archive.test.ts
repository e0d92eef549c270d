import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { spoolArchive } from "./spool-archive.ts";

describe("an uploaded archive", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "caisson-spool-"));
  });
  afterAll(() => rm(folder, { recursive: true }));
  async function* pieces(body: Buffer, size: number): AsyncGenerator<Buffer> {
    for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
  }
  const place = (name: string) => join(folder, name);

  it("[HOS-01] is stored as it comes, for its owner alone, with its digest", async () => {
    const body = gzipSync("x".repeat(10_000));
    const path = place("good");
    const spooled = await spoolArchive(path, pieces(body, 1));
    expect(spooled).toEqual({ path, bytes: body.length, sha256: createHash("sha256").update(body).digest("hex") });
    expect((await readFile(path)).equals(body)).toBe(true);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it.each([
    ["is empty", Buffer.alloc(0)],
    ["is one byte", Buffer.from([0x1f])],
    ["is no gzip", Buffer.from("PK\x03\x04")],
  ])("[HOS-01] is refused if it %s, with a command that makes one, and nothing of it stays", async (name, body) => {
    await expect(spoolArchive(place(name), pieces(body, 1))).rejects.toMatchObject({
      code: "invalid",
      message: "the upload is not a gzipped tar archive",
      hint: expect.stringContaining("tar -czf"),
    });
    expect(existsSync(place(name))).toBe(false);
  });

  it("[HOS-01] is refused past its limit, before the rest of it comes", async () => {
    let sent = 0;
    async function* endless() {
      for (; ; sent++) yield gzipSync("x");
    }
    await expect(spoolArchive(place("large"), endless(), { archiveBytes: 1_000 })).rejects.toMatchObject({
      code: "too_large",
      hint: expect.stringContaining("leave out"),
    });
    expect(sent).toBeLessThan(1_000);
    expect(existsSync(place("large"))).toBe(false);
  });

  it("replaces no file", async () => {
    await writeFile(place("there"), "kept");
    await expect(spoolArchive(place("there"), pieces(gzipSync("x"), 9))).rejects.toThrow(/EEXIST/);
    expect(await readFile(place("there"), "utf8")).toBe("kept");
  });
});

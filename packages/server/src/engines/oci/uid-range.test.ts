import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sandboxLimits } from "../../core/limits.ts";
import { engineLimits } from "../limits.ts";
import { reserveUidRange, sweepUidRanges } from "./uid-range.ts";

async function makeRegistry() {
  const folder = await mkdtemp(join(tmpdir(), "caisson-uids-"));
  const pool = {
    registry: join(folder, "uids"),
    firstId: engineLimits.uidBase,
    slots: engineLimits.uidSlots,
    idsPerSlot: sandboxLimits.uidsPerSandbox,
  };
  return { folder, pool, registry: pool.registry, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

describe("uid ranges", () => {
  it("never overlap, also when taken at once", async () => {
    await using made = await makeRegistry();
    const ranges = await Promise.all(Array.from({ length: 50 }, () => reserveUidRange(made.pool, made.folder)));
    const bases = ranges.map(({ base }) => base).sort((left, right) => left - right);
    expect(new Set(bases).size).toBe(50);
    for (const base of bases) {
      expect((base - engineLimits.uidBase) % sandboxLimits.uidsPerSandbox).toBe(0);
      expect(base + sandboxLimits.uidsPerSandbox).toBeLessThan(2 ** 32);
    }
  });

  it("are free again once released, and nothing else is left", async () => {
    await using made = await makeRegistry();
    const range = await reserveUidRange(made.pool, made.folder);
    expect(await readdir(made.registry)).toHaveLength(1);
    await range.release();
    expect(await readdir(made.registry)).toEqual([]);
  });

  it("are swept when their sandbox folder is gone, and kept while it is there", async () => {
    await using made = await makeRegistry();
    const [kept, gone] = [join(made.folder, "kept"), join(made.folder, "gone")];
    await mkdir(kept);
    const range = await reserveUidRange(made.pool, kept);
    await reserveUidRange(made.pool, gone);
    await writeFile(join(made.registry, `.${randomUUID()}`), gone); // by an owner that was killed as it took one
    await sweepUidRanges(made.registry);
    const slot = (range.base - engineLimits.uidBase) / sandboxLimits.uidsPerSandbox;
    expect(await readdir(made.registry)).toEqual([String(slot)]);
  });

  it("of a small pool are refused when all are taken", async () => {
    await using made = await makeRegistry();
    const pool = { ...made.pool, firstId: 100_000, slots: 3, idsPerSlot: sandboxLimits.idsPerSlice };
    const ranges = await Promise.all(Array.from({ length: 3 }, () => reserveUidRange(pool, made.folder)));
    const bases = ranges.map(({ base }) => base).sort((left, right) => left - right);
    expect(bases).toEqual([0, 1, 2].map((slot) => 100_000 + slot * sandboxLimits.idsPerSlice));
    await expect(reserveUidRange(pool, made.folder)).rejects.toMatchObject({ code: "limit_exceeded" });
  });
});

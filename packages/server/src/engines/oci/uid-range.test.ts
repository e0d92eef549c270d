import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { engineLimits, sandboxLimits } from "../../core/limits.ts";
import { reserveUidRange, sweepUidRanges } from "./uid-range.ts";

async function makeRegistry() {
  const folder = await mkdtemp(join(tmpdir(), "caisson-uids-"));
  return { folder, registry: join(folder, "uids"), [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

describe("uid ranges", () => {
  it("never overlap, also when taken at once", async () => {
    await using made = await makeRegistry();
    const ranges = await Promise.all(Array.from({ length: 50 }, () => reserveUidRange(made.registry, made.folder)));
    const bases = ranges.map(({ base }) => base).sort((left, right) => left - right);
    expect(new Set(bases).size).toBe(50);
    for (const base of bases) {
      expect((base - engineLimits.uidBase) % sandboxLimits.uidsPerSandbox).toBe(0);
      expect(base + sandboxLimits.uidsPerSandbox).toBeLessThan(2 ** 32);
    }
  });

  it("are free again once released, and nothing else is left", async () => {
    await using made = await makeRegistry();
    const range = await reserveUidRange(made.registry, made.folder);
    expect(await readdir(made.registry)).toHaveLength(1);
    await range.release();
    expect(await readdir(made.registry)).toEqual([]);
  });

  it("are swept when their sandbox folder is gone, and kept while it is there", async () => {
    await using made = await makeRegistry();
    const [kept, gone] = [join(made.folder, "kept"), join(made.folder, "gone")];
    await mkdir(kept);
    const range = await reserveUidRange(made.registry, kept);
    await reserveUidRange(made.registry, gone);
    await sweepUidRanges(made.registry);
    const slot = (range.base - engineLimits.uidBase) / sandboxLimits.uidsPerSandbox;
    expect(await readdir(made.registry)).toEqual([String(slot)]);
  });
});

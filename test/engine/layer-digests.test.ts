import { readdirSync, readlinkSync } from "node:fs";
import { open, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Engine } from "../../packages/server/src/core/engine.ts";
import { engineNames, limits, makeHome, Puppet } from "./fixture.ts";
import { openTidyEngine } from "./layer-trees.ts";

const digestOf = async (engine: Engine, id: string) => (await engine.layers()).find((layer) => layer.id === id)?.digest;

/** Descriptors of this machine that are open on a file, but for those of this process. */
function holdersOf(path: string): string[] {
  const list = (folder: string) => {
    try {
      return readdirSync(folder);
    } catch {
      return []; // it has ended
    }
  };
  const leadsThere = (link: string) => {
    try {
      return readlinkSync(link).startsWith(path);
    } catch {
      return false;
    }
  };
  return list("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => list(`/proc/${pid}/fd`).map((fd) => `/proc/${pid}/fd/${fd}`))
    .filter(leadsThere);
}

describe.each(engineNames)("a layer of engine %s whose sandbox lives on", (name) => {
  it.each([
    ["is frozen", {}],
    ["is copied", { copy: true }],
  ])(
    "[S64] is root's alone and nobody else's to write from when it %s, has its digest soon, and is checked by it then",
    async (_, how) => {
      await using home = await makeHome();
      let id: string;
      let digest: string | null | undefined;
      const folder = (layer: string) => join(home.home, "engine/layers", layer);
      {
        await using engine = await openTidyEngine(name, home);
        const made = await engine.create({ limits, keep: true });
        {
          using puppet = new Puppet(made);
          await puppet.run('open("/workspace/note", "w").write("true")');
        }
        ({ id } = await engine.freeze(made.id, { keep: true, ...how }));
        for (const [path, mode] of [
          [join(folder(id), ".."), 0o700],
          [folder(id), 0o700],
          [join(folder(id), "volume.img"), 0o600],
        ] as const)
          expect(await stat(path).then((found) => [found.uid, found.mode & 0o777])).toEqual([0, mode]);
        await expect.poll(() => digestOf(engine, id), { timeout: 30_000 }).toMatch(/^[0-9a-f]{64}$/);
        digest = await digestOf(engine, id);
        expect(holdersOf(join(folder(id), "volume.img"))).toEqual([]);
        await engine.destroyKept(made.id);
      }
      // Its engine was killed before it knew.
      const record = join(folder(id), "layer.json");
      await writeFile(record, JSON.stringify({ ...JSON.parse(await readFile(record, "utf8")), digest: null }));
      {
        await using engine = await openTidyEngine(name, home);
        await expect.poll(() => digestOf(engine, id), { timeout: 30_000 }).toBe(digest);
      }
      {
        await using file = await open(join(folder(id), "volume.img"), "r+");
        await file.write(Buffer.from([1]), 0, 1, limits.storageBytes - 1);
      }
      await using engine = await openTidyEngine(name, home);
      await expect(engine.create({ limits, base: id })).rejects.toThrow("is damaged");
      await engine.removeLayer(id);
    },
  );
});

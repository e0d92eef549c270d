import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { Engine } from "../../packages/server/src/core/engine.ts";
import { engineNames, limits, makeHome, openEngine, Puppet } from "./fixture.ts";

const idsOf = async (engine: Engine) => (await engine.layers()).map(({ id }) => id);

describe.each(engineNames)("a layer that engine %s lends for copies", (name) => {
  const make = async (engine: Engine) => {
    const made = await engine.create({ limits, keep: true });
    using puppet = new Puppet(made);
    await puppet.run('open("/workspace/word", "w").write("lent")');
    return made.id;
  };

  it.each([true, false])(
    "goes with the last that lies on it, and not before it is released (copied: %s)",
    async (copy) => {
      await using home = await makeHome();
      await using engine = await openEngine(name, home);
      const id = await make(engine);
      const layer = await engine.freeze(id, { keep: true, copy, lent: true });
      const other = await engine.create({ limits, base: layer.id });
      await engine.destroy(other.id); // it was the only one, of those that are there now
      const last = await engine.create({ limits, base: layer.id });
      await engine.releaseLayer(layer.id);
      expect(await idsOf(engine)).toEqual([layer.id]);
      await engine.destroyKept(id);
      {
        using puppet = new Puppet(last);
        expect(await puppet.run('open("/workspace/word").read()')).toBe("lent");
      }
      expect(await idsOf(engine)).toEqual([layer.id]);
      await engine.destroy(last.id);
      expect(await idsOf(engine)).toEqual([]);
      await expect(engine.releaseLayer(layer.id)).rejects.toMatchObject({ code: "not_found" });
    },
  );

  it("is nobody's after the engine that lent it ended before its copies were made", async () => {
    await using home = await makeHome();
    let id: string;
    {
      await using engine = await openEngine(name, home);
      id = await make(engine);
      await engine.freeze(id, { keep: true, copy: true, lent: true });
    }
    await vi.waitFor(
      async () => {
        await using engine = await openEngine(name, home);
        expect(await idsOf(engine)).toEqual([]);
      },
      { timeout: 30_000 },
    );
    await using engine = await openEngine(name, home);
    await engine.destroyKept(id);
  });

  it("takes a copy back to what its original goes back to", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const id = await make(engine);
    const layer = await engine.freeze(id, { keep: true, copy: true, lent: true });
    const copy = await engine.create({ limits, base: layer.id, keep: true });
    await engine.releaseLayer(layer.id);
    await engine.reset(copy.id);
    {
      using puppet = new Puppet(await engine.start(copy.id));
      expect(await puppet.run('os.listdir("/workspace")')).toEqual(["output"]);
    }
    expect(await idsOf(engine)).toEqual([]);
    for (const one of [id, copy.id]) await engine.destroyKept(one);
  });
});

describe("a layer that a killed engine was copying", () => {
  it("is gone soon, also where its sandbox has an owner again", async () => {
    await using home = await makeHome();
    const draft = join(home.home, "engine/layers/.new-aaaabbbbccccdddd");
    await using engine = await openEngine("container", home);
    const { id } = await engine.create({ limits, keep: true });
    const { id: like } = await engine.freeze(id, { keep: true, copy: true });
    const record = JSON.parse(await readFile(join(home.home, "engine/layers", like, "layer.json"), "utf8"));
    await mkdir(draft);
    await writeFile(join(draft, "layer.json"), JSON.stringify({ ...record, id: "aaaabbbbccccdddd" }));
    await engine.removeLayer(like);
    {
      await using other = await openEngine("container", home); // it finds an owner, and looks again
      expect(existsSync(draft)).toBe(true);
      await engine.detach(id);
      await other.attach(id);
      await vi.waitFor(() => expect(existsSync(draft)).toBe(false), { timeout: 30_000 });
      await other.destroy(id);
    }
  });
});

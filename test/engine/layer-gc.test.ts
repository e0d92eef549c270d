import { describe, expect, it } from "vitest";
import type { Engine } from "../../packages/server/src/core/engine.ts";
import type { LayerId } from "../../packages/server/src/core/layer.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { isOld, layerCollector } from "../../packages/server/src/sandboxes/gc/layer-collector.ts";
import { gcLimits } from "../../packages/server/src/sandboxes/gc/limits.ts";
import { engineNames, limits, makeHome, openEngine, Puppet } from "./fixture.ts";

const [name = "container"] = engineNames;

async function frozen(engine: Engine, base?: LayerId): Promise<LayerId> {
  const made = await engine.create({ limits, ...(base === undefined ? {} : { base }) });
  {
    using puppet = new Puppet(made);
    await puppet.run('open("/workspace/note", "a").write("x")');
  }
  return (await engine.freeze(made.id, { keep: false })).id;
}

/** By then layers that are made now are old enough. */
const later = { ...systemClock, wallMs: () => Date.now() + gcLimits.layerGraceMs + 60_000 };

describe("a collection of layers", () => {
  const collectorOf = (
    engine: Engine,
    named: LayerId[],
    clock = later,
    remove = (id: LayerId) => engine.removeLayer(id),
  ) =>
    layerCollector({
      layers: { list: () => engine.layers(), remove },
      named: [async () => named],
      isSettled: isOld(clock),
    });
  const ids = async (engine: Engine) => (await engine.layers()).map(({ id }) => id).sort();

  it("[S77] removes those that no record, sandbox or layer needs, what is below them too, and no others", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const [named, under] = [await frozen(engine), await frozen(engine)];
    const over = await frozen(engine, under);
    const used = await frozen(engine);
    const made = await engine.create({ limits, base: used });
    const all = await ids(engine);
    const fresh = collectorOf(engine, [named], systemClock);
    expect(await fresh.collect(0)).toEqual({ items: 0, bytes: 0 });
    const collector = collectorOf(engine, [named]);
    const { unused, bytes } = await collector.look();
    expect(unused.items).toBe(1); // what is below goes after it
    expect(unused.bytes).toBeLessThan(bytes);
    expect(await ids(engine)).toEqual(all);
    const freed = await collector.collect(0);
    expect(freed.items).toBe(2);
    expect(freed.bytes).toBeGreaterThan(unused.bytes);
    expect(await ids(engine)).toEqual([named, used].sort());
    expect(all).toContain(over);
    await engine.destroy(made.id);
    expect((await collector.collect(0)).items).toBe(1);
    expect(await ids(engine)).toEqual([named]);
  });

  it("[S77] leaves one whose use begins while it runs", async () => {
    await using home = await makeHome();
    await using engine = await openEngine(name, home);
    const layer = await frozen(engine);
    const removed: string[] = [];
    const collector = collectorOf(engine, [], later, async (id) => {
      // It was judged unused; now a sandbox is made of it.
      removed.push((await engine.create({ limits, base: layer })).id);
      await engine.removeLayer(id);
    });
    expect(await collector.collect(0)).toEqual({ items: 0, bytes: 0 });
    expect(await ids(engine)).toEqual([layer]);
    expect(removed).toHaveLength(1);
    for (const id of removed) await engine.destroy(id);
  });
});

import type { Engine, EngineName } from "../../packages/server/src/core/engine.ts";
import { layerLimits, makeImage, openPuppets, tell } from "../layers.ts";
import { interleave, summarize } from "../stats.ts";
import { engines, MiB, type Workbench } from "../workbench.ts";

const storageBytes = 64 * MiB;

/** From the call to the first answer of a program of the image. */
async function startMs(engine: Engine, root: string): Promise<number> {
  const start = performance.now();
  const made = await engine.create({ limits: { ...layerLimits, storageBytes }, root });
  await tell(made, "1 + 1");
  const ms = performance.now() - start;
  await engine.destroy(made.id);
  return ms;
}

/** What a sandbox of a large image costs to start, beside one of a small image. */
export async function imageStart(bench: Workbench): Promise<void> {
  for (const name of engines) await startsOf(bench, name);
}

async function startsOf(bench: Workbench, name: EngineName): Promise<void> {
  await using engine = await openPuppets(bench, name);
  const small = await makeImage(engine, 100 * MiB);
  const large = await makeImage(engine, 2000 * MiB);
  const firstMs = [await startMs(engine, small.id), await startMs(engine, large.id)];
  const [smallMs, largeMs] = await interleave(bench.options.quick ? 10 : 30, [
    () => startMs(engine, small.id),
    () => startMs(engine, large.id),
  ]);
  bench.add({
    engine: name,
    what: "start of a sandbox of a 2 GB image",
    unit: "ms",
    ours: summarize(largeMs),
    bare: summarize(smallMs),
    bareWhat: "the same with an image of 100 MB",
    target: { of: "ratio", atMost: 1.1 },
    notes: [
      `an engine's first start, with the digest of the image: ${firstMs.map((ms) => ms.toFixed(0)).join(" and ")} ms`,
    ],
  });
}

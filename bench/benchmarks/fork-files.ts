import type { Engine, EngineName } from "../../packages/server/src/core/engine.ts";
import { fill, layerLimits, openPuppets, tell } from "../layers.ts";
import { interleave, summarize } from "../stats.ts";
import { engines, MiB, type Workbench } from "../workbench.ts";

const targetMs = 300;
const dataBytes = 1000 * MiB;

/** An idle sandbox with a workspace of 1 GB, and a copy of it: both run again at the end. */
export async function forkFiles(bench: Workbench): Promise<void> {
  for (const engine of engines) await forkOf(bench, engine);
}

async function makeParent(engine: Engine, bytes: number): Promise<string> {
  const { id } = await engine.create({ limits: layerLimits, keep: true });
  await engine.stop(id);
  await fill(await engine.start(id), "/workspace/data", bytes);
  // What is still to be written is no part of a fork.
  await engine.stop(id);
  await engine.start(id);
  return id;
}

async function forkMs(engine: Engine, parent: string, files: number, frozen?: number[]): Promise<number> {
  const start = performance.now();
  const layer = await engine.freeze(parent, { keep: true });
  frozen?.push(performance.now() - start);
  const create = engine.create({ limits: layerLimits, base: layer.id });
  const [own, copy] = await Promise.all([engine.start(parent), create]);
  const ms = performance.now() - start;
  for (const sandbox of [own, copy])
    if ((await tell(sandbox, 'len(os.listdir("/workspace/data"))')) !== files) throw new Error("files are missing");
  await engine.destroy(copy.id);
  return ms;
}

async function forkOf(bench: Workbench, name: EngineName): Promise<void> {
  await using engine = await openPuppets(bench, name);
  const rounds = bench.options.quick ? 3 : 10;
  const [large, small] = [await makeParent(engine, dataBytes), await makeParent(engine, MiB)];
  const frozen: number[] = [];
  const [samples, bare] = await interleave(rounds, [
    () => forkMs(engine, large, Math.ceil(dataBytes / (16 * MiB)), frozen),
    () => forkMs(engine, small, 1),
  ]);
  bench.add({
    engine: name,
    what: "fork of a 1 GB workspace, files only",
    unit: "ms",
    ours: summarize(samples),
    bare: summarize(bare),
    bareWhat: "the same of a workspace of 1 MB",
    target: { of: "value", atMost: targetMs },
    notes: [
      `from the call until original and copy run; of that the freeze ${summarize(frozen).median.toFixed(0)} ms`,
      `each round one layer deeper, up to ${rounds}`,
    ],
  });
}

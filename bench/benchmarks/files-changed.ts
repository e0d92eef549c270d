import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { single } from "../line.ts";
import { interleave, median, summarize, timeMs } from "../stats.ts";
import { engines, GiB, install, type Workbench } from "../workbench.ts";

const targetFiles = 10_000;
const sizes: Record<EngineName, { full: number[]; quick: number[] }> = {
  container: { full: [1000, 10_000, 30_000, 100_000], quick: [1000, 10_000] },
  gvisor: { full: [10_000], quick: [10_000] },
};
const blockRounds = 5;

async function block(step: () => Promise<unknown>): Promise<number[]> {
  const samples: number[] = [];
  for (let round = 0; round < blockRounds; round++) samples.push(await timeMs(step));
  return samples;
}

interface Cost {
  files: number;
  addedMs: number[];
  firstMs: number;
}

/**
 * Blocks, not single runs: after a run that did not look, the next one looks twice. That case, which is also the run
 * after an upload, is told beside.
 */
async function measure(sandbox: Sandbox, command: string[], files: number, blocks: number): Promise<Cost> {
  const untracked = () => block(() => sandbox.exec({ command, trackFiles: false }));
  const first = () => timeMs(() => sandbox.exec({ command }));
  const tracked = () => block(() => sandbox.exec({ command }));
  await interleave(1, [untracked, first, tracked]);
  const [plainMs, firstMs, trackedMs] = await interleave(blocks, [untracked, first, tracked]);
  const plain = median(plainMs);
  return { files, addedMs: trackedMs.map((ms) => ms - plain), firstMs: median(firstMs) - plain };
}

function worstGrowth(costs: readonly Cost[]): number {
  const perFile = costs.map(({ files, addedMs }) => median(addedMs) / files);
  return Math.max(...perFile.flatMap((cost, index) => perFile.slice(index + 1).map((later) => later / cost)));
}

export async function filesChanged(bench: Workbench): Promise<void> {
  for (const engine of engines) {
    const limits = { storageBytes: 4 * GiB, memoryBytes: 2 * GiB };
    await using sandbox = await bench.caisson.createSandbox({ engine, limits });
    const command = [await install(sandbox, "nothing")];
    const maker = await install(sandbox, "make-files");
    const costs: Cost[] = [];
    for (const files of sizes[engine][bench.options.quick ? "quick" : "full"]) {
      const range = [String(costs.at(-1)?.files ?? 0), String(files)];
      const made = await sandbox.exec({
        command: [maker, ...range],
        trackFiles: false,
        limits: { timeoutMs: 600_000, cpuTimeMs: 600_000 },
      });
      if (made.exit_code !== 0) throw new Error(`files could not be made: exit code ${made.exit_code}`);
      const cost = await measure(sandbox, command, files, bench.options.quick ? 2 : 6);
      costs.push(cost);
      bench.add({
        engine,
        what: `added at ${files} files`,
        unit: "ms",
        ours: summarize(cost.addedMs),
        ...(files === targetFiles ? { target: { of: "value" as const, atMost: 60 } } : {}),
        notes: [`${cost.firstMs.toFixed(1)} ms where the look before the run is needed too, as after an upload`],
      });
    }
    if (costs.length < 2) continue;
    const growth = single(worstGrowth(costs));
    bench.add({ engine, what: "growth of cost a file", unit: "x", ours: growth, target: { of: "value", atMost: 1.5 } });
  }
}

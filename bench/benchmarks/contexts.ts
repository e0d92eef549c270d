import { contextLanguages } from "../../packages/server/src/core/context.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { interleave, summarize, timeMs } from "../stats.ts";
import { engines, MiB, type Workbench } from "../workbench.ts";

const targetMs: Record<EngineName, number> = { container: 1, gvisor: 5 };
const code = "1 + 1";

export async function contexts(bench: Workbench): Promise<void> {
  for (const engine of engines) {
    await using sandbox = await bench.caisson.createSandbox({ engine, limits: { storageBytes: 256 * MiB } });
    for (const language of contextLanguages) {
      await using context = await sandbox.contexts.create({ language });
      const steps = {
        start: async () => {
          const startMs = performance.now();
          await using _started = await sandbox.contexts.create({ language });
          return [performance.now() - startMs];
        },
        run: async () => {
          const samples: number[] = [];
          for (let round = 0; round < 50; round++) samples.push(await timeMs(() => context.run(code)));
          return samples;
        },
      };
      const list = [steps.run, steps.start];
      await interleave(1, list);
      const [runs, starts] = await interleave(bench.options.quick ? 4 : 16, list);
      const target = { of: "value" as const, atMost: targetMs[engine] };
      const line = { engine, unit: "ms" } as const;
      bench.add({ ...line, what: `${language}: round trip of ${code}`, ours: summarize(runs ?? []), target });
      bench.add({ ...line, what: `${language}: a new context`, ours: summarize(starts ?? []) });
    }
  }
}

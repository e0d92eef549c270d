import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { summarize } from "../stats.ts";
import { MiB, type Workbench } from "../workbench.ts";

const copies = 10;
const targetMs = copies * 400;
/** 100 MB of values, a quarter of it chance. */
const state = "import os; data = [os.urandom(1024) + bytes(3072) for _ in range(25600)]";

/** Copies of a gVisor sandbox that answer with its Python state: one call after the other, and all in one call. */
export async function forkMemory(bench: Workbench): Promise<void> {
  const rounds = bench.options.quick ? 1 : 3;
  const line = { engine: "gvisor", unit: "ms" } as const;
  const inTurn: number[] = [];
  const atOnce: number[] = [];
  for (let round = 0; round < rounds; round++) {
    inTurn.push(
      await measure(
        bench,
        Array.from({ length: copies }, () => 1),
      ),
    );
    atOnce.push(await measure(bench, [copies]));
  }
  const target = { of: "value", atMost: targetMs } as const;
  const what = `${copies} copies with 100 MB of Python state, until each has answered`;
  bench.add({ ...line, what: `${what}, one call after the other`, ours: summarize(inTurn), target });
  bench.add({ ...line, what: `${what}, in one call`, ours: summarize(atOnce), target });
}

async function measure({ caisson }: Workbench, counts: readonly number[]): Promise<number> {
  await using original = await caisson.createSandbox({ engine: "gvisor", limits: { storageBytes: 256 * MiB } });
  const { id } = await original.contexts.create({ language: "python" });
  await original.contexts.get(id).run(state);
  const made: Sandbox[] = [];
  const startMs = performance.now();
  for (const count of counts) {
    const forked = await caisson.forkSandbox(original, { count });
    made.push(...forked);
    await Promise.all(forked.map((copy) => answer(copy, id)));
  }
  const ms = performance.now() - startMs;
  for (const copy of made) await copy.destroy();
  return ms;
}

async function answer(copy: Sandbox, context: string): Promise<void> {
  const { results } = await copy.contexts.get(context).run("len(data)");
  if (results[0]?.json !== 25_600) throw new Error("a copy has not the state of the original");
}

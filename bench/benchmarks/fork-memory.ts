import { randomBytes } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { interleave, summarize } from "../stats.ts";
import { MiB, type Workbench } from "../workbench.ts";

const copies = 10;
const targetMs = copies * 400;
/** 100 MB of values, a quarter of it chance. */
const state = "import os; data = [os.urandom(1024) + bytes(3072) for _ in range(25600)]";

type Make = (bench: Workbench, original: Sandbox, answer: (copy: Sandbox) => Promise<void>) => Promise<Sandbox[]>;

/** What each makes is ten copies that have answered; the time of all of it counts. */
const ways: Record<string, Make> = {
  "one after the other": async ({ caisson }, original, answer) => {
    const made = await caisson.forkSandbox(original, { count: copies, atOnce: 1 });
    for (const copy of made) await answer(copy);
    return made;
  },
  "one after the other, of a kept checkpoint": async ({ caisson: { copies }, home }, original, answer) => {
    const place = { key: randomBytes(32), folder: await mkdtemp(join(home, "kept-")) };
    const kept = await copies.checkpoint(original, place);
    const seed = await copies.load("gvisor", kept, place);
    const made = await inTurn(async () => {
      const copy = await copies.grow("gvisor", seed);
      await answer(copy);
      return [copy];
    });
    await copies.unload("gvisor", seed);
    await copies.remove("gvisor", kept.checkpoint.id);
    return made;
  },
  "four at a time": async ({ caisson }, original, answer) => {
    const made = await caisson.forkSandbox(original, { count: copies });
    await Promise.all(made.map(answer));
    return made;
  },
  "one call after the other": ({ caisson }, original, answer) =>
    inTurn(async () => {
      const made = await caisson.forkSandbox(original, { count: 1 });
      await Promise.all(made.map(answer));
      return made;
    }),
};

/** Copies of a gVisor sandbox that answer with its Python state. */
export async function forkMemory(bench: Workbench): Promise<void> {
  const rounds = bench.options.quick ? 1 : 3;
  const names = Object.keys(ways);
  const samples = await interleave(
    rounds,
    Object.values(ways).map((make) => () => measure(bench, make)),
  );
  for (const [at, name] of names.entries())
    bench.add({
      engine: "gvisor",
      unit: "ms",
      what: `${copies} copies with 100 MB of Python state, until each has answered, ${name}`,
      ours: summarize(samples[at] ?? []),
      target: { of: "value", atMost: targetMs },
    });
}

async function inTurn(make: () => Promise<Sandbox[]>): Promise<Sandbox[]> {
  const made: Sandbox[] = [];
  while (made.length < copies) made.push(...(await make()));
  return made;
}

async function measure(bench: Workbench, make: Make): Promise<number> {
  await using original = await bench.caisson.createSandbox({
    engine: "gvisor",
    limits: { storageBytes: 256 * MiB },
  });
  const { id } = await original.contexts.create({ language: "python" });
  await original.contexts.get(id).run(state);
  const startMs = performance.now();
  const made = await make(bench, original, (copy) => answer(copy, id));
  const ms = performance.now() - startMs;
  for (const copy of made) await copy.destroy();
  return ms;
}

async function answer(copy: Sandbox, context: string): Promise<void> {
  const { results } = await copy.contexts.get(context).run("len(data)");
  if (results[0]?.json !== 25_600) throw new Error("a copy has not the state of the original");
}

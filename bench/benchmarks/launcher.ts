import { join } from "node:path";
import { single } from "../line.ts";
import { root } from "../native-programs.ts";
import { runProgram } from "../program.ts";
import { interleave, median, summarize } from "../stats.ts";
import type { Workbench } from "../workbench.ts";

const launcherPath = join(root, "caisson");
const nodePath = join(root, ".build/bin/node");
const bundlePath = join(root, ".build/app/caisson.mjs");

export async function launcher(bench: Workbench): Promise<void> {
  const env = { CAISSON_ROOT: root, NODE_COMPILE_CACHE: join(root, ".build/compile-cache") };
  const direct = async () => (await runProgram(nodePath, [bundlePath, "version"], { env })).totalMs;
  const launched = async () => (await runProgram(launcherPath, ["version"])).totalMs;
  await interleave(2, [launched, direct]);
  const [directMs, launchedMs] = await interleave(bench.options.quick ? 10 : 40, [direct, launched]);
  bench.add({
    engine: "host",
    what: "./caisson version",
    unit: "ms",
    ours: summarize(launchedMs),
    bare: summarize(directMs),
    bareWhat: `${nodePath} ${bundlePath} version`,
  });
  bench.add({
    engine: "host",
    what: "added before node starts",
    unit: "ms",
    ours: single(median(launchedMs) - median(directMs)),
    target: { of: "value", atMost: 60 },
  });
}

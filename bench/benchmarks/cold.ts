import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { BareRuntime } from "../bare-runtime.ts";
import { programPath } from "../native-programs.ts";
import { profileCold } from "../profile-cold.ts";
import { interleave, summarize } from "../stats.ts";
import { engines, MiB, type Workbench } from "../workbench.ts";

const storageBytes = 256 * MiB;
const targets: Record<EngineName, number> = { container: 1.5, gvisor: 1.3 };
const rounds: Record<EngineName, { full: number; quick: number }> = {
  container: { full: 50, quick: 10 },
  gvisor: { full: 25, quick: 6 },
};

/** The hello program gets in with the sandbox, as an input folder: one way in, and no upload to be waited for. */
async function makeInput(bench: Workbench): Promise<string> {
  const folder = join(bench.home, "input");
  await mkdir(folder, { recursive: true });
  await copyFile(programPath("hello"), join(folder, "hello"));
  return folder;
}

async function oursMs(bench: Workbench, engine: EngineName, inputFolder: string): Promise<number> {
  const start = performance.now();
  await using sandbox = await bench.caisson.createSandbox({ engine, limits: { storageBytes }, inputFolder });
  let firstByteMs: number | undefined;
  const onOutput = () => {
    firstByteMs ??= performance.now() - start;
    return undefined;
  };
  await sandbox.exec({ command: ["/workspace/input/hello"], onOutput });
  if (firstByteMs === undefined) throw new Error(`${engine}: the program said nothing`);
  return firstByteMs;
}

export async function cold(bench: Workbench): Promise<void> {
  const inputFolder = await makeInput(bench);
  for (const engine of engines) {
    const bare = await BareRuntime.prepare(engine, bench.home);
    const bundle = await bare.bundle("hello", ["/bench/hello"]);
    const bareMs = async () => (await bare.run(bundle)).firstByteMs ?? Number.NaN;
    const ours = () => oursMs(bench, engine, inputFolder);
    await interleave(2, [bareMs, ours]);
    const [bareSamples, samples] = await interleave(rounds[engine][bench.options.quick ? "quick" : "full"], [
      bareMs,
      ours,
    ]);
    bench.add({
      engine,
      what: "create to first byte",
      unit: "ms",
      ours: summarize(samples),
      bare: summarize(bareSamples),
      bareWhat: `${bare.command}, from spawn to first byte, same static program`,
      target: { of: "ratio", atMost: targets[engine] },
      notes: [`storage ${storageBytes / MiB} MiB, files_changed on, the program comes in an input folder`],
    });
    if (bench.options.profile) await profileCold(bench, engine, inputFolder, storageBytes);
  }
}

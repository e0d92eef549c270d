import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { BareRuntime } from "../bare-runtime.ts";
import { FifoReader } from "../fifo-reader.ts";
import { catPath, shellPath } from "../machine.ts";
import { interleave, summarize } from "../stats.ts";
import { allCpus, engines, GiB, install, MiB, type Workbench } from "../workbench.ts";

const sizes: Record<EngineName, number> = { container: 2 * GiB, gvisor: 1 * GiB };

function megabytesPerSecond(bytes: number, ms: number, expected: number): number {
  if (bytes !== expected) throw new Error(`${bytes} bytes came, not ${expected}`);
  return bytes / 1e6 / (ms / 1000);
}

async function oursRate(sandbox: Sandbox, command: string[], expected: number): Promise<number> {
  let bytes = 0;
  let first = 0;
  let last = 0;
  const onOutput = (_channel: string, chunk: Buffer) => {
    last = performance.now();
    if (bytes === 0) first = last;
    bytes += chunk.length;
    return undefined;
  };
  const limits = { timeoutMs: 600_000, cpuTimeMs: 3_600_000 };
  await sandbox.exec({ command, onOutput, trackFiles: false, limits });
  return megabytesPerSecond(bytes, last - first, expected);
}

async function bareRate(bare: BareRuntime, bundle: string, reader: FifoReader, expected: number): Promise<number> {
  await bare.run(bundle, { stdout: reader.writeEnd });
  await sleep(50); // the last bytes may still be in the FIFO
  const { bytes, ms } = reader.take();
  return megabytesPerSecond(bytes, ms, expected);
}

export async function bytesOut(bench: Workbench): Promise<void> {
  for (const engine of engines) {
    const size = sizes[engine] / (bench.options.quick ? 2 : 1);
    const bare = await BareRuntime.prepare(engine, bench.home);
    const bundle = await bare.bundle("zeros", [shellPath, "-c", `/bench/zeros ${size} | ${catPath}`]);
    using reader = await FifoReader.open(join(bench.home, `out-${engine}`));
    await using sandbox = await bench.caisson.createSandbox({ engine, limits: { storageBytes: 64 * MiB, ...allCpus } });
    const command = [await install(sandbox, "zeros"), String(size)];
    const [bareRates, rates] = await interleave(bench.options.quick ? 3 : 9, [
      () => bareRate(bare, bundle, reader, size),
      () => oursRate(sandbox, command, size),
    ]);
    bench.add({
      engine,
      what: "one stream out",
      unit: "MB/s",
      ours: summarize(rates, true),
      bare: summarize(bareRates, true),
      bareWhat: `zeros | cat in ${bare.command}, its stdout a FIFO of 256 KiB read by a bare net.Socket`,
      target: { of: "ratio", atLeast: 0.8 },
      notes: [`${size / MiB} MiB a round, first byte to last, ${allCpus.cpus} CPUs for the sandbox`],
    });
  }
}

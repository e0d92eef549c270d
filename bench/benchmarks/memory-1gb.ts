import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { single } from "../line.ts";
import { folder, programPath, root } from "../native-programs.ts";
import { runProgram } from "../program.ts";
import { engines, GiB, type Workbench } from "../workbench.ts";

interface Phase {
  name: string;
  bytes: number;
  baseBytes: number;
  peakBytes: number;
}

/** As the launcher bundles the product: stripping types at run time would take memory that no user's process takes. */
async function bundleChild(): Promise<string> {
  const outfile = join(folder, "memory-child.mjs");
  const entry = fileURLToPath(import.meta.resolve("../memory-child.ts"));
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    logLevel: "warning",
  });
  return outfile;
}

export async function memory1gb(bench: Workbench): Promise<void> {
  const child = await bundleChild();
  const fileBytes = (bench.options.full ? 5 : 1) * GiB;
  for (const engine of engines) {
    const home = join(bench.home, `memory-${engine}`);
    const args = [child, home, root, engine, programPath("zeros"), String(fileBytes)];
    const { stdout } = await runProgram(process.execPath, args);
    for (const line of stdout.trim().split("\n")) {
      const { name, bytes, baseBytes, peakBytes } = JSON.parse(line) as Phase;
      bench.add({
        engine,
        what: `owner, ${name}`,
        unit: "MB",
        ours: single(peakBytes / 1e6),
        target: { of: "value", atMost: 150 },
        notes: [`peak RSS; ${(baseBytes / 1e6).toFixed(0)} MB before; ${(bytes / GiB).toFixed(2)} GiB passed`],
      });
    }
  }
}

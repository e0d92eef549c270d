import { chmod, copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { CreatedSandbox, Engine, EngineName, SandboxLimits } from "../packages/server/src/core/engine.ts";
import type { LayerInfo } from "../packages/server/src/core/layer.ts";
import { listKept } from "../packages/server/src/engines/oci/kept.ts";
import { openEngine, Puppet } from "../test/engine/fixture.ts";
import { makeRoot } from "../test/engine/layer-trees.ts";
import { root } from "./native-programs.ts";
import { GiB, MiB, type Workbench } from "./workbench.ts";

export const layerLimits: SandboxLimits = {
  memoryBytes: 512 * MiB,
  cpus: 2,
  cpuShares: 1024,
  processes: 64,
  storageBytes: 5 * GiB,
};

/** An engine whose sandboxes run a Python that does what it is told: nothing between the engine and the files. */
export async function openPuppets(bench: Workbench, name: EngineName): Promise<Engine> {
  const home = join(bench.home, `engine-${name}`);
  await mkdir(home, { mode: 0o755 });
  const puppetPath = join(home, "puppet");
  await copyFile(join(root, "test/engine/puppet.py"), puppetPath);
  await chmod(puppetPath, 0o755);
  const engine = await openEngine(name, { home, puppetPath, [Symbol.asyncDispose]: async () => {} });
  const close = engine[Symbol.asyncDispose].bind(engine);
  engine[Symbol.asyncDispose] = async () => {
    for (const { id } of await listKept(home, () => undefined)) await engine.destroyKept(id);
    await close();
  };
  return engine;
}

/** Parts are separated by a line of three dashes; the last one's value is the answer. */
export async function tell(sandbox: CreatedSandbox, code: string): Promise<unknown> {
  using puppet = new Puppet(sandbox);
  let answer: unknown;
  for (const part of code.split("\n---\n")) answer = await puppet.run(part);
  return answer;
}

/** Bytes that nothing makes smaller, in files of 16 MB, written in parts that a puppet answers in time. */
async function fill(sandbox: CreatedSandbox, folder: string, bytes: number): Promise<void> {
  await tell(sandbox, `os.makedirs("${folder}", exist_ok=True)`);
  for (let at = 0; at < bytes; at += 16 * MiB)
    await tell(sandbox, `open("${folder}/${at}", "wb").write(os.urandom(${Math.min(16 * MiB, bytes - at)}))`);
}

/** A root of about that size. */
export async function makeImage(engine: Engine, bytes: number): Promise<LayerInfo> {
  const made = await engine.create({ limits: layerLimits });
  await tell(made, makeRoot);
  await fill(made, "/workspace/usr/filler", bytes);
  return engine.freeze(made.id, { keep: false });
}

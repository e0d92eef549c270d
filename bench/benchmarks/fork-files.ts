import { join } from "node:path";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { Daemon } from "../daemon.ts";
import { interleave, summarize } from "../stats.ts";
import { engines, MiB, type Workbench } from "../workbench.ts";

const targetMs = 300;
const fileBytes = 10 * MiB;
const dataFiles = 100;
const path = "/api/v1/sandboxes";

/** An idle sandbox with a workspace of 1 GB, and a copy of it, asked for over REST: both run again when the call returns. */
export async function forkFiles(bench: Workbench): Promise<void> {
  for (const engine of engines) await forkOf(bench, engine);
}

async function run({ rest }: Daemon, id: string, command: string): Promise<string> {
  const made = await rest.post<{ exit_code: number; stdout: string }>(`${path}/${id}/exec`, {
    command,
    track_files: false,
  });
  if (made.exit_code !== 0) throw new Error(`${command} ended with ${made.exit_code}`);
  return made.stdout;
}

async function makeParent(daemon: Daemon, files: number): Promise<string> {
  const { id } = await daemon.rest.post<{ id: string }>(path, { storage_mb: 2048, memory_mb: 512 });
  for (let at = 0; at < files; at++) await run(daemon, id, `head -c ${fileBytes} /dev/urandom >f${at}`);
  // What is still to be written is no part of a fork.
  await daemon.rest.post(`${path}/${id}/stop`);
  await run(daemon, id, "true");
  return id;
}

async function forkMs(daemon: Daemon, parent: string, files: number): Promise<number> {
  const start = performance.now();
  const made = await daemon.rest.post<{ files: string; sandboxes: { id: string }[] }>(`${path}/${parent}/fork`, {
    memory: "never",
  });
  const ms = performance.now() - start;
  const copy = made.sandboxes[0]?.id ?? "";
  if (made.files !== "overlay") throw new Error(`the files came by ${made.files}`);
  for (const id of [parent, copy])
    if (Number(await run(daemon, id, "ls | wc -l")) !== files) throw new Error("files are missing");
  await daemon.rest.delete(`${path}/${copy}`);
  return ms;
}

async function forkOf(bench: Workbench, engine: EngineName): Promise<void> {
  await using daemon = await Daemon.start({ home: join(bench.home, engine), engine, poolSize: 0 });
  const rounds = bench.options.quick ? 3 : 10;
  const [large, small] = [await makeParent(daemon, dataFiles), await makeParent(daemon, 1)];
  const [samples, bare] = await interleave(rounds, [
    () => forkMs(daemon, large, dataFiles),
    () => forkMs(daemon, small, 1),
  ]);
  bench.add({
    engine,
    what: "fork of a 1 GB workspace, files only",
    unit: "ms",
    ours: summarize(samples),
    bare: summarize(bare),
    bareWhat: "the same of a workspace of 10 MB",
    target: { of: "value", atMost: targetMs },
    notes: [
      "over REST, from the call until its answer: original and copy run, and are in store and log",
      `each round one layer deeper, up to ${rounds}`,
    ],
  });
}

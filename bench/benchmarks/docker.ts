import { join } from "node:path";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { Daemon } from "../daemon.ts";
import { Docker } from "../docker.ts";
import { installOver } from "../over-rest.ts";
import { interleave, type Summary, summarize } from "../stats.ts";
import { engines, type Workbench } from "../workbench.ts";

const path = "/api/v1/sandboxes";
const poolSize = 4;

/** A sandbox, the program into it, and what the program says: three calls, from the first to the last answer. */
async function firstOutputMs(daemon: Daemon, origin: RegExp): Promise<number> {
  if (origin.test("pool")) await daemon.poolFull();
  const startMs = performance.now();
  const made = await daemon.rest.post<{ id: string; origin: string }>(path);
  const hello = await installOver(daemon.rest, made.id, "hello");
  const { stdout } = await daemon.rest.post<{ stdout: string }>(`${path}/${made.id}/exec`, { command: [hello] });
  const tookMs = performance.now() - startMs;
  if (stdout !== "x" || !origin.test(made.origin)) throw new Error(`${made.origin}: it said '${stdout}'`);
  await daemon.rest.delete(`${path}/${made.id}`);
  return tookMs;
}

async function measure(bench: Workbench, engine: EngineName, docker: Docker | undefined, why: string): Promise<void> {
  const start = (name: string, size: number) =>
    Daemon.start({ home: join(bench.home, `${engine}-${name}`), engine, poolSize: size });
  await using warm = await start("warm", poolSize);
  await using cold = await start("cold", 0);
  const steps = [
    () => firstOutputMs(warm, /^pool$/),
    () => firstOutputMs(cold, /^cold/),
    ...(docker === undefined ? [] : [async () => (await docker.runHello()).firstByteMs ?? Number.NaN]),
  ];
  await interleave(2, steps);
  const [warmMs = [], coldMs = [], dockerMs] = await interleave(bench.options.quick ? 8 : 30, steps);
  const bare: Summary | undefined = dockerMs === undefined ? undefined : summarize(dockerMs);
  const bareWhat = "docker run --rm --network=none of an image that is the same static program, to its first byte";
  const against = (atMost: number) =>
    bare === undefined
      ? { notes: [`without docker: ${why}`] }
      : { bare, bareWhat, target: { of: "ratio", atMost } as const };
  const line = { engine, unit: "ms" } as const;
  bench.add({ ...line, what: "allocate and first output", ours: summarize(warmMs), ...against(0.1) });
  bench.add({ ...line, what: "cold create and first output", ours: summarize(coldMs), ...against(0.5) });
}

export async function dockerRun(bench: Workbench): Promise<void> {
  let why = "";
  await using docker = await Docker.start(bench.home, (told) => {
    why = told;
  });
  if (docker === undefined) bench.say(`docker is left out: ${why}`);
  for (const engine of engines) await measure(bench, engine, docker, why);
}

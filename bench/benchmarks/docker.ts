import { join } from "node:path";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { Daemon } from "../daemon.ts";
import { Docker, helloPath } from "../docker.ts";
import { installOver } from "../over-rest.ts";
import { interleave, summarize } from "../stats.ts";
import { engines, type Workbench } from "../workbench.ts";

const path = "/api/v1/sandboxes";
const poolSize = 4;
const coldTargets: Record<EngineName, number> = { container: 0.5, gvisor: 1 };

interface FirstOutput {
  daemon: Daemon;
  origin: RegExp;
  /** That has the program, as docker's has; otherwise it is written into the sandbox's workspace. */
  image?: string;
}

/** A sandbox, and what the program says in it: from the first call to the last answer. */
async function firstOutputMs({ daemon, origin, image }: FirstOutput): Promise<number> {
  const { rest } = daemon;
  const startMs = performance.now();
  const made = await rest.post<{ id: string; origin: string }>(path, image === undefined ? {} : { image });
  const hello = image === undefined ? await installOver(rest, made.id, "hello") : helloPath;
  const { stdout } = await rest.post<{ stdout: string }>(`${path}/${made.id}/exec`, { command: [hello] });
  const tookMs = performance.now() - startMs;
  if (stdout !== "x" || !origin.test(made.origin)) throw new Error(`${made.origin}: it said '${stdout}'`);
  await rest.delete(`${path}/${made.id}`);
  return tookMs;
}

async function measure(bench: Workbench, engine: EngineName, docker: Docker, archive: string): Promise<void> {
  const start = (name: string, size: number) =>
    Daemon.start({ home: join(bench.home, `${engine}-${name}`), engine, poolSize: size });
  await using warm = await start("warm", poolSize);
  await using cold = await start("cold", 0);
  const image = "hello";
  for (const daemon of [warm, cold]) await daemon.loadImage(image, archive);
  await firstOutputMs({ daemon: warm, origin: /^cold/, image }); // its pool is filled from then on
  const steps = [
    () => firstOutputMs({ daemon: warm, origin: /^pool$/, image }),
    () => firstOutputMs({ daemon: cold, origin: /^cold/, image }),
    () => firstOutputMs({ daemon: warm, origin: /^pool$/ }),
    () => firstOutputMs({ daemon: cold, origin: /^cold/ }),
    async () => (await docker.runHello()).firstByteMs ?? Number.NaN,
  ].map((step) => async () => {
    await warm.poolFull(); // no start but the one that is measured
    return step();
  });
  await interleave(2, steps);
  const [warmMs = [], coldMs = [], warmUploadMs = [], coldUploadMs = [], dockerMs = []] = await interleave(
    bench.options.quick ? 8 : 30,
    steps,
  );
  const bareWhat = "docker run --rm --network=none of an image that is the same static program, to its first byte";
  const line = { engine, unit: "ms", bare: summarize(dockerMs), bareWhat } as const;
  const notes = ["two calls: a sandbox of the same image, and a run"];
  const target = (atMost: number) => ({ target: { of: "ratio", atMost } as const, notes });
  bench.add({ ...line, what: "allocate and first output", ours: summarize(warmMs), ...target(0.1) });
  bench.add({ ...line, what: "cold create and first output", ours: summarize(coldMs), ...target(coldTargets[engine]) });
  const uploaded = { notes: ["three calls: a sandbox of the host's image, the program into it, and a run"] };
  bench.add({ ...line, what: "allocate, upload and first output", ours: summarize(warmUploadMs), ...uploaded });
  bench.add({ ...line, what: "cold create, upload and first output", ours: summarize(coldUploadMs), ...uploaded });
}

export async function dockerRun(bench: Workbench): Promise<void> {
  await using docker = await Docker.start(bench.home, (why) => bench.say(`docker is left out: ${why}`));
  if (docker === undefined) return;
  const archive = join(bench.home, "hello.tar");
  await docker.saveHello(archive);
  for (const engine of engines) await measure(bench, engine, docker, archive);
}

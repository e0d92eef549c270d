import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Daemon } from "../daemon.ts";
import { runProgram } from "../program.ts";
import type { Rest } from "../rest.ts";
import { interleave, summarize } from "../stats.ts";
import type { Workbench } from "../workbench.ts";

const templates = "/api/v1/templates";
const sandboxes = "/api/v1/sandboxes";
const name = "data";
const rows = 100_000;
const warmUp = `import pandas as pd
df = pd.DataFrame({"a": range(${rows}), "b": range(${rows})})`;

interface Template {
  id: string;
  state: string;
  step: string | null;
  error: string | null;
}

/** From the call that creates a sandbox to its answer about a frame that the warm-up made; against an import of pandas on the host. */
export async function template(bench: Workbench): Promise<void> {
  const home = join(bench.home, "template");
  const packages = await withDaemon(home, 0, (rest) => fromMemory(bench, rest));
  await withDaemon(home, 1, (rest) => fromPool(bench, rest, packages));
}

async function withDaemon<T>(home: string, poolSize: number, use: (rest: Rest) => Promise<T>): Promise<T> {
  const settings = { CAISSON_MAX_STORAGE_MB: "2048" };
  await using daemon = await Daemon.start({ home, engine: "gvisor", poolSize, settings });
  return await use(daemon.rest); // before it ends
}

const line = { engine: "gvisor", unit: "ms", target: { of: "ratio", atMost: 1 } } as const;
const what = "template: df.shape on a preloaded frame";
const bareWhat = "a new python3 of the host that imports the same pandas, its files";
const notes = [
  "by REST: a new sandbox and its first answer, two calls",
  "pandas of pip in a template of the host image, on 2 CPUs",
];

async function fromMemory(bench: Workbench, rest: Rest): Promise<string> {
  const made = await settled(
    rest,
    await rest.post<Template>(templates, {
      ...{ name, pip: ["pandas"], memory_mb: 1024, cpus: 2, storage_mb: 1024 },
      warm_up: { language: "python", code: warmUp },
    }),
  );
  const packages = await packagesOf(rest, bench.home);
  const [ours = [], warm = [], cold = []] = await interleave(bench.options.quick ? 3 : 15, [
    () => answerMs(rest, made.id),
    () => importMs(packages),
    async () => {
      await evict(packages);
      return importMs(packages);
    },
  ]);
  const restored = { ...line, ours: summarize(ours) };
  const from = `${what}, from saved memory`;
  bench.add({ ...restored, what: from, bare: summarize(warm), bareWhat: `${bareWhat} in the page cache`, notes });
  bench.add({
    ...restored,
    what: `${from}, against the disk`,
    bare: summarize(cold),
    bareWhat: `${bareWhat} on the disk`,
  });
  return packages;
}

/** By the next daemon, which finds the memory kept; its first sandbox opens the template's pool. */
async function fromPool(bench: Workbench, rest: Rest, packages: string): Promise<void> {
  const first = summarize([await answerMs(rest, name)]);
  bench.add({ engine: "gvisor", unit: "ms", what: `${what}, the first after a restart of the daemon`, ours: first });
  const [ours = [], bare = []] = await interleave(bench.options.quick ? 3 : 15, [
    async () => {
      await waiting(rest);
      return answerMs(rest, name);
    },
    () => importMs(packages),
  ]);
  const pooled = { ...line, ours: summarize(ours), bare: summarize(bare), notes };
  bench.add({ ...pooled, what: `${what}, from the template's pool`, bareWhat: `${bareWhat} in the page cache` });
  await rest.delete(`${templates}/${name}`);
}

async function waiting(rest: Rest): Promise<void> {
  const { id } = await rest.get<Template>(`${templates}/${name}`);
  for (;;) {
    const pools = await rest.get<{ image: string; ready: number }[]>("/api/v1/pool");
    if (pools.some(({ image, ready }) => image === `template ${id}` && ready === 1)) return;
    await sleep(50);
  }
}

async function settled(rest: Rest, { id }: Template): Promise<Template> {
  for (;;) {
    const found = await rest.get<Template>(`${templates}/${id}`);
    if (found.state === "ready") return found;
    if (found.state === "failed") throw new Error(`${found.step}: ${found.error}`);
    await sleep(100);
  }
}

async function answerMs(rest: Rest, template: string): Promise<number> {
  const startMs = performance.now();
  const { id } = await rest.post<{ id: string }>(sandboxes, { template });
  const run = { code: "list(df.shape)" };
  const { results } = await rest.post<{ results: { json: unknown }[] }>(
    `${sandboxes}/${id}/contexts/python-1/run`,
    run,
  );
  const ms = performance.now() - startMs;
  if (JSON.stringify(results[0]?.json) !== JSON.stringify([rows, 2])) throw new Error("the frame is not there");
  await rest.delete(`${sandboxes}/${id}`);
  return ms;
}

/** The template's own packages, for the host's Python. */
async function packagesOf(rest: Rest, folder: string): Promise<string> {
  const { id } = await rest.post<{ id: string }>(sandboxes, { template: name });
  const { status, bytes } = await rest.call("GET", `${sandboxes}/${id}/archive?path=.packages/lib`);
  if (status !== 200) throw new Error(`the packages cannot be read: ${status}`);
  await rest.delete(`${sandboxes}/${id}`);
  const archive = join(folder, "packages.tar");
  await writeFile(archive, bytes);
  await runProgram("/usr/bin/tar", ["--extract", `--file=${archive}`, `--directory=${folder}`]);
  const find = [
    "-c",
    `import glob; print(glob.glob(${JSON.stringify(folder)} + "/**/site-packages", recursive=True)[0])`,
  ];
  return (await runProgram("/usr/bin/python3", find)).stdout.trim();
}

async function importMs(packages: string): Promise<number> {
  return (await runProgram("/usr/bin/python3", ["-c", "import pandas"], { env: { PYTHONPATH: packages } })).totalMs;
}

/** What the packages have in the page cache is dropped. */
async function evict(packages: string): Promise<void> {
  const code = `import os
for folder, _, names in os.walk(${JSON.stringify(packages)}):
    for name in names:
        file = os.open(os.path.join(folder, name), os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)`;
  await runProgram("/usr/bin/python3", ["-c", code]);
}

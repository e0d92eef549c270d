import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { Daemon } from "../daemon.ts";
import { Rest, toJson } from "../rest.ts";
import { interleave, summarize } from "../stats.ts";
import { engines, MiB, type Workbench } from "../workbench.ts";

const smallBytes = 1024;
const largeBytes = 64 * MiB;
const blockRounds = 20;

/** A folder over HTTP by a plain Node server. */
async function openBare(folder: string): Promise<{ rest: Rest } & Disposable> {
  await mkdir(folder, { recursive: true });
  const program = fileURLToPath(import.meta.resolve("../file-server.ts"));
  const child = spawn(process.execPath, [program, folder], { stdio: ["pipe", "pipe", "inherit"] });
  const [port] = await once(child.stdout, "data");
  const rest = new Rest(`http://127.0.0.1:${String(port).trim()}`, "");
  return { rest, [Symbol.dispose]: () => void child.kill() };
}

function steps(rest: Rest, folder: string) {
  const [small, large] = [Buffer.alloc(smallBytes, "x"), Buffer.alloc(largeBytes, "caisson ")];
  const call = async (method: string, name: string, body?: Buffer) => {
    const answer = await rest.call(method, `${folder}/${name}`, body);
    toJson({ status: answer.status, bytes: Buffer.alloc(0) });
    return answer;
  };
  const block = (method: string, body?: Buffer) => async () => {
    const samples: number[] = [];
    while (samples.length < blockRounds) samples.push((await call(method, "small", body)).tookMs);
    return samples;
  };
  const rate = (ms: number) => largeBytes / 1e6 / (ms / 1000);
  return [
    block("PUT", small),
    block("GET"),
    async () => rate((await call("PUT", "large", large)).tookMs),
    async () => {
      const { bytes, tookMs } = await call("GET", "large");
      if (bytes.length !== largeBytes) throw new Error(`${bytes.length} bytes came back`);
      return rate(tookMs);
    },
  ] as const;
}

async function measure(bench: Workbench, engine: EngineName): Promise<void> {
  const settings = { CAISSON_MAX_STORAGE_MB: "512" };
  await using daemon = await Daemon.start({ home: join(bench.home, engine), engine, poolSize: 0, settings });
  using bare = await openBare(join(bench.home, `${engine}-bare`));
  const { id } = await daemon.rest.post<{ id: string }>("/api/v1/sandboxes");
  const all = [...steps(daemon.rest, `/api/v1/sandboxes/${id}/files`), ...steps(bare.rest, "")] as const;
  await interleave(1, all);
  const samples = await interleave(bench.options.quick ? 3 : 12, all);
  const add = (what: string, unit: "ms" | "MB/s", ours: number[], theirs: number[], notes: string[] = []) =>
    bench.add({
      engine,
      what,
      unit,
      ours: summarize(ours, unit === "MB/s"),
      bare: summarize(theirs, unit === "MB/s"),
      bareWhat: "a plain Node server that streams the same bytes to and from a file of the host",
      notes,
    });
  add("PUT of 1 KiB", "ms", samples[0], samples[4]);
  add("GET of 1 KiB", "ms", samples[1], samples[5]);
  add(`PUT of ${largeBytes / MiB} MiB`, "MB/s", samples[2], samples[6], [
    "ours hashes what it writes for the audit log",
  ]);
  add(`GET of ${largeBytes / MiB} MiB`, "MB/s", samples[3], samples[7]);
}

export async function restFiles(bench: Workbench): Promise<void> {
  for (const engine of engines) await measure(bench, engine);
}

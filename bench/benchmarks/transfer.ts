import { createReadStream, createWriteStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { cpPath } from "../machine.ts";
import { runProgram } from "../program.ts";
import { interleave, summarize, timeMs } from "../stats.ts";
import { allCpus, engines, GiB, MiB, type Workbench } from "../workbench.ts";

const fileBytes = 512 * MiB;

async function makeFile(path: string): Promise<void> {
  await using file = await open(path, "w");
  const block = Buffer.alloc(MiB, "caisson ");
  for (let at = 0; at < fileBytes; at += block.length) await file.write(block);
}

async function rate(action: () => Promise<unknown>): Promise<number> {
  return fileBytes / 1e6 / ((await timeMs(action)) / 1000);
}

type Direction = "upload" | "download";

async function transfer(bench: Workbench, direction: Direction): Promise<void> {
  const source = join(bench.home, "source");
  const target = join(bench.home, "target");
  await makeFile(source);
  for (const engine of engines) {
    const limits = { storageBytes: 2 * GiB, memoryBytes: 1 * GiB, ...allCpus };
    await using sandbox = await bench.caisson.createSandbox({ engine, limits });
    const upload = () => sandbox.files.write("file", createReadStream(source, { highWaterMark: MiB }));
    await upload();
    const actions: Record<Direction, () => Promise<unknown>> = { upload, download: () => download(sandbox, target) };
    const [bareRates, rates] = await interleave(bench.options.quick ? 2 : 5, [
      async () => {
        await rm(target, { force: true });
        return await rate(() => runProgram(cpPath, ["--reflink=never", source, target]));
      },
      async () => {
        await rm(target, { force: true });
        if (direction === "upload") await sandbox.files.remove("file");
        return await rate(actions[direction]);
      },
    ]);
    bench.add({
      engine,
      what: `a file of ${fileBytes / MiB} MiB`,
      unit: "MB/s",
      ours: summarize(rates, true),
      bare: summarize(bareRates, true),
      bareWhat: `${cpPath} on the host, source in the page cache`,
    });
  }
}

async function download(sandbox: Sandbox, target: string): Promise<void> {
  await pipeline(Readable.from(sandbox.files.read("file"), { objectMode: true }), createWriteStream(target));
}

export const uploadFile = (bench: Workbench) => transfer(bench, "upload");
export const downloadFile = (bench: Workbench) => transfer(bench, "download");

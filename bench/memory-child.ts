// Runs in a process of its own, bundled like the product: what it prints is the memory of an owner that only does this.
import { readFileSync, writeFileSync } from "node:fs";
import { openCaisson } from "../packages/server/src/app.ts";
import { parseEngineChoice } from "../packages/server/src/core/request.ts";
import type { Sandbox } from "../packages/server/src/sandboxes/sandbox.ts";

const GiB = 1024 ** 3;
const [home = "", root = "", engine = "", zeros = "", fileBytesText = ""] = process.argv.slice(2);
const fileBytes = Number(fileBytesText);
const limits = { timeoutMs: 3_600_000, cpuTimeMs: 3_600_000 };

/** Linux forgets the highest RSS so far when told 5. */
const resetPeak = () => writeFileSync("/proc/self/clear_refs", "5");
const statusBytes = (name: string) =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;

async function phase(name: string, action: () => Promise<number>): Promise<void> {
  resetPeak();
  const baseBytes = statusBytes("VmRSS");
  const bytes = await action();
  console.log(JSON.stringify({ name, bytes, baseBytes, peakBytes: statusBytes("VmHWM") }));
}

async function* pieces(totalBytes: number): AsyncGenerator<Buffer> {
  const piece = Buffer.alloc(256 * 1024, "x");
  for (let left = totalBytes; left > 0; left -= piece.length) yield piece.subarray(0, Math.min(left, piece.length));
}

async function streamed(sandbox: Sandbox): Promise<number> {
  let bytes = 0;
  const onOutput = (_channel: string, chunk: Buffer) => {
    bytes += chunk.length;
    return undefined;
  };
  await sandbox.exec({ command: ["/workspace/zeros", String(GiB)], onOutput, limits });
  return bytes;
}

async function captured(sandbox: Sandbox): Promise<number> {
  const result = await sandbox.exec({ command: ["/workspace/zeros", String(GiB)], limits });
  if (!result.truncated) throw new Error("a captured GiB was not cut");
  return GiB;
}

async function upload(sandbox: Sandbox): Promise<number> {
  await sandbox.files.write("large", pieces(fileBytes));
  return (await sandbox.files.stat("large")).size;
}

async function download(sandbox: Sandbox): Promise<number> {
  let bytes = 0;
  for await (const chunk of sandbox.files.read("large")) bytes += chunk.length;
  return bytes;
}

await using caisson = openCaisson({ home, root });
await using sandbox = await caisson.createSandbox({
  engine: parseEngineChoice(engine),
  limits: { storageBytes: fileBytes + (fileBytes > 4 * GiB ? 3 : 1) * GiB, memoryBytes: GiB },
});
await sandbox.files.write("zeros", readFileSync(zeros), 0o755);
await phase("1 GiB in one line, streamed", () => streamed(sandbox));
await phase("1 GiB in one line, captured", () => captured(sandbox));
await phase(`a file of ${fileBytes / GiB} GiB up`, () => upload(sandbox));
await phase(`a file of ${fileBytes / GiB} GiB down`, () => download(sandbox));

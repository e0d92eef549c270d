import { open } from "node:fs/promises";
import { openCaisson } from "../../packages/server/src/app.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";

/** An owner for memory.test.ts: moves much through one sandbox and tells its own largest resident set. */
const [root = "", home = "", engine = "container", lineBytes = "0", file = "", fileBytes = "0"] = process.argv.slice(2);
await using caisson = openCaisson({ home, root });
const storageBytes = Number(fileBytes) + 512 * 1024 ** 2;
await using sandbox = await caisson.createSandbox({ engine: engine as EngineName, limits: { storageBytes } });

/**
 * The file, every piece in the same buffer. A read stream takes a new one for each, and V8 lets up to 64 MB of those wait
 * for its collector: they would be counted as the owner's, which keeps none.
 */
async function* piecesOfFile(): AsyncGenerator<Buffer, void> {
  await using source = await open(file);
  const buffer = Buffer.allocUnsafeSlow(64 * 1024);
  for (;;) {
    const { bytesRead } = await source.read(buffer);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

let seen = 0;
const run = await sandbox.start({
  command: `head -c ${lineBytes} /dev/zero | tr '\\0' x`,
  limits: { timeoutMs: 0, cpuTimeMs: 600_000 },
  trackFiles: false,
  onOutput: (_channel, chunk) => {
    seen += chunk.length;
    return undefined;
  },
});
const result = await run.result;
const captured = await sandbox.exec({
  command: `head -c ${lineBytes} /dev/zero | tr '\\0' x`,
  limits: { cpuTimeMs: 600_000, timeoutMs: 0 },
  trackFiles: false,
});
await sandbox.files.write("big", piecesOfFile());
await using back = await open(`${file}.back`, "wx");
await sandbox.files.readEach("big", (piece) => back.writeFile(piece));
const maxRssBytes = process.resourceUsage().maxRSS * 1024;
console.log(
  JSON.stringify({
    seen,
    exit: result.exit_code,
    captured: captured.stdout.length,
    truncated: captured.truncated,
    maxRssBytes,
  }),
);

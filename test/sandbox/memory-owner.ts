import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { openCaisson } from "../../packages/server/src/app.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";

/** An owner for memory.test.ts: moves much through one sandbox and tells its own largest resident set. */
const [root = "", home = "", engine = "container", lineBytes = "0", file = "", fileBytes = "0"] = process.argv.slice(2);
await using caisson = openCaisson({ home, root });
const storageBytes = Number(fileBytes) + 512 * 1024 ** 2;
await using sandbox = await caisson.createSandbox({ engine: engine as EngineName, limits: { storageBytes } });

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
await sandbox.files.write("big", createReadStream(file));
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

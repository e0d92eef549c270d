// Makes a sandbox, sends it what is large enough for trays, says what came of it, and removes it.
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { openCaisson } from "../../packages/server/src/app.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";

const [, , engine, home = ""] = process.argv;
const root = join(import.meta.dirname, "../..");
await using caisson = openCaisson({ home, root });
await using sandbox = await caisson.createSandbox({ engine: engine as EngineName });
const link = lstatSync(join(home, "engine/sandboxes", sandbox.id, "wire/trays"), { throwIfNoEntry: false });
const { stdout } = await sandbox.exec({ command: ["/usr/bin/wc", "-c"], stdin: Buffer.alloc(1 << 20, 1) });
console.log(JSON.stringify({ hasLink: link !== undefined, arrived: Number(stdout) }));

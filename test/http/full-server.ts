// Fills the disk that a server lies on, in a mount of its own: full-server.ts FOLDER. Prints what became of each step.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Received } from "./api.ts";
import { openTestServer } from "./server.ts";

function fillDisk(ballast: string): void {
  for (let bytes = 1 << 20; bytes >= 1; bytes >>= 1) {
    try {
      for (;;) writeFileSync(ballast, Buffer.alloc(bytes), { flag: "a" });
    } catch {
      // Full for pieces of this size.
    }
  }
}

const shown = ({ status, json }: Received) => ({ status, code: json?.code, says: json?.detail, hint: json?.hint });

const [daemonFolder = ""] = process.argv.slice(2);
await using server = await openTestServer("container", { daemonFolder });
const api = await server.as("agent");
const id = await api.create();
const at = `/api/v1/sandboxes/${id}`;
const exec = (command: string) => api.post(`${at}/exec`, { command });
await exec("echo kept > note");
const ballast = join(daemonFolder, "ballast");
fillDisk(ballast);
// What the log had room for in the pages it has already may still fit.
let failed = await exec("true");
for (let n = 0; n < 1_000 && failed.status === 200; n++) failed = await exec("true");
const created = await api.post("/api/v1/sandboxes", {});
const [ready, alive, listed] = [await api.get("/readyz"), await api.get("/healthz"), await api.get(at)];
rmSync(ballast);
let again = await exec("cat note");
for (let n = 0; n < 1_000 && again.status !== 200; n++) again = await exec("cat note");
const { problems } = await server.store.audit.verify();
console.log(
  JSON.stringify({
    failed: shown(failed),
    created: shown(created),
    ready: shown(ready),
    alive: alive.status,
    listed: listed.status,
    again: again.json.stdout,
    problems,
  }),
);

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { openCaisson } from "../../packages/server/src/app.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { root } from "../harness.ts";
import { findLeaks, processesOf } from "../leaks.ts";

/** For rootless.test.ts: uses two sandboxes as an ordinary user, and prints what came of it as one JSON document. */
const [engine, home = ""] = process.argv.slice(2);
const MiB = 1024 ** 2;
const limits = { memoryBytes: 256 * MiB, processes: 16, storageBytes: 64 * MiB };

/** Forks as often as it can, says how often, and lets all of them go. */
const forkBomb = `
import os
end, hold = os.pipe()
count = 0
try:
  while count < 60:
    if os.fork() == 0:
      os.close(hold)
      os.read(end, 1)
      os._exit(0)
    count += 1
except OSError:
  pass
print(count, flush=True)
`;

const lines = (text: string) => text.trim().split("\n");
const numbers = (line: string) => line.trim().split(/\s+/).map(Number);

/** What the host shows of a sandbox: its maps, and who owns its files there. */
function look(sandbox: Sandbox) {
  const pids = processesOf(sandbox.id);
  const workspace = join(home, "engine/sandboxes", sandbox.id, "volume/ws");
  const read = (file: string) => pids.map((pid) => lines(readFileSync(`/proc/${pid}/${file}`, "utf8")).map(numbers));
  return {
    uidMaps: read("uid_map"),
    gidMaps: read("gid_map"),
    owners: readdirSync(workspace).map((name) => statSync(join(workspace, name)).uid),
    cgroups: pids.map((pid) => readFileSync(`/proc/${pid}/cgroup`, "utf8")),
  };
}

async function tell() {
  await using caisson = openCaisson({ home, root });
  await using one = await caisson.createSandbox({ engine: engine as EngineName, limits });
  await using two = await caisson.createSandbox({ engine: engine as EngineName, limits });
  const run = (command: string, more = {}) => one.exec({ command, limits: { timeoutMs: 20_000, ...more } });

  await two.files.write("secret", "of the other");
  const hello = await run("echo hello >made; id -u; id -g; cat /proc/self/uid_map /proc/self/gid_map");
  await one.files.write("sub/written", "by a call");
  const rename = await run("mv made moved; chmod 600 moved; ln moved linked; rm -r sub");
  const bomb = await one.executeCode({ language: "python", code: forkBomb });
  const memory = await one.executeCode({ language: "python", code: "b = bytearray(600 << 20); print('had it')" });
  const late = await run("(trap '' TERM HUP; setsid sleep 1000) & sleep 1000", { timeoutMs: 500 });
  const after = await run("cat /proc/[0-9]*/comm | grep -cx sleep");
  const mounts = await run("cat /proc/self/mountinfo");
  const stats = await one.stats();
  const seen = [look(one), look(two)];
  return {
    enforced: one.enforced,
    notEnforced: one.notEnforced,
    ids: [one.id, two.id],
    runs: { hello, rename, bomb, memory, late, after, mounts },
    stats,
    seen,
  };
}

const told = await tell();
console.log(JSON.stringify({ ...told, leaks: findLeaks(home) }));

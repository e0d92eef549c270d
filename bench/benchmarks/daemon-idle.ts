import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Daemon } from "../daemon.ts";
import { single } from "../line.ts";
import type { Workbench } from "../workbench.ts";

const path = "/api/v1/sandboxes";
const settleMs = 5_000;
/** In 1024² bytes, as the kernel and its tools count memory. */
const targets = { daemon: 200, engine: 70 } as const;

async function statusMb(pid: number, name: string): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1]) / 1024;
}

async function pssMb(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1]) / 1024;
}

export async function daemonIdle(bench: Workbench): Promise<void> {
  const count = bench.options.quick ? 20 : 100;
  const engine = "container" as const;
  await using daemon = await Daemon.start({ home: join(bench.home, "daemon"), engine, poolSize: 2 });
  await daemon.poolFull();
  const pids = await daemon.pids();
  const roles = ["daemon", "engine"] as const;
  const empty = { daemon: await statusMb(pids.daemon, "VmRSS"), engine: await statusMb(pids.engine, "VmRSS") };
  for (let made = 0; made < count; made++) {
    const { id } = await daemon.rest.post<{ id: string }>(path);
    await daemon.rest.post(`${path}/${id}/exec`, { command: "echo ready" });
  }
  await daemon.poolFull();
  await sleep(settleMs);
  for (const role of roles) {
    const pid = pids[role];
    const peak = await statusMb(pid, "VmHWM");
    bench.add({
      engine,
      what: `RSS of the ${role === "daemon" ? "daemon" : "engine process"}, ${count} sandboxes`,
      unit: "MB",
      ours: single(await statusMb(pid, "VmRSS")),
      target: { of: "value", atMost: targets[role] },
      notes: [
        `each sandbox has run a command; before them ${empty[role].toFixed(0)} MB, peak ${peak.toFixed(0)} MB, PSS ${(await pssMb(pid)).toFixed(0)} MB`,
      ],
    });
  }
}

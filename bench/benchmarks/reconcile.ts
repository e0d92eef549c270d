import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Daemon } from "../daemon.ts";
import { summarize } from "../stats.ts";
import type { Workbench } from "../workbench.ts";

const path = "/api/v1/sandboxes";
const targetMs = 2_000;
const pollMs = 10;

/** Of those that the daemon knows and that run. */
async function countRunning({ rest }: Daemon): Promise<number> {
  const listed = await rest.get<{ status: string }[]>(`${path}?limit=1000&status=running`);
  return listed.length;
}

/** A daemon that is killed, from the start of the next one until that has found every sandbox again. */
export async function reconcile(bench: Workbench): Promise<void> {
  const count = bench.options.quick ? 10 : 50;
  const rounds = bench.options.quick ? 2 : 5;
  const engine = "container" as const;
  await using daemon = await Daemon.start({ home: join(bench.home, "daemon"), engine, poolSize: 0 });
  for (let made = 0; made < count; made++) {
    const { id } = await daemon.rest.post<{ id: string }>(path);
    await daemon.rest.post(`${path}/${id}/exec`, { command: "echo ready" });
  }
  const samples: number[] = [];
  while (samples.length < rounds) {
    const former = await daemon.status();
    process.kill(former.daemon.pid, "SIGKILL");
    for (;;) {
      const { ready, restarts, daemon: next } = await daemon.status().catch(() => former);
      // Its first answers may meet connections of the one before.
      if (ready && restarts > former.restarts && (await countRunning(daemon).catch(() => 0)) === count) {
        samples.push(Date.now() - Date.parse(next.startedAt));
        break;
      }
      await sleep(pollMs);
    }
  }
  bench.add({
    engine,
    what: `${count} sandboxes found again by the next daemon`,
    unit: "ms",
    ours: summarize(samples),
    target: { of: "value", atMost: targetMs },
    notes: [
      `killed with -9 ${rounds} times; from the start of the next one until it lists all as running: ${samples.join(", ")} ms`,
    ],
  });
}

import { open } from "node:fs/promises";
import { join } from "node:path";
import { openStore } from "../../packages/server/src/store/open-store.ts";
import { single } from "../line.ts";
import { interleave, summarize, timeMs } from "../stats.ts";
import type { Workbench } from "../workbench.ts";

const block = 50;
const entry = {
  type: "execution.completed",
  namespace: "default",
  actor: "key_0123456789",
  sandboxId: "sb-0123456789",
  requestId: "req-0123456789",
  detail: { kind: "exec", command_sha256: "0".repeat(64), exit_code: 0, duration_ms: 12, timed_out: false },
};

/** What an entry costs its caller, beside one line in a file that is brought to the disk at once. */
export async function audit(bench: Workbench): Promise<void> {
  const folder = join(bench.home, "audit");
  await using store = await openStore({ path: join(folder, "caisson.db") });
  await using file = await open(join(folder, "bare"), "a");
  const line = `${JSON.stringify(entry)}\n`;
  const microseconds = async (act: () => Promise<unknown>) => 1_000 * (await timeMs(act));
  const alone = async () => {
    const samples: number[] = [];
    for (let i = 0; i < block; i++) samples.push(await microseconds(() => store.audit.record(entry)));
    return samples;
  };
  const bare = async () => {
    const samples: number[] = [];
    for (let i = 0; i < block; i++)
      samples.push(await microseconds(() => file.write(line).then(() => file.datasync())));
    return samples;
  };
  const together = async () => {
    const lane = async () => {
      for (let i = 0; i < block; i++) await store.audit.record(entry);
    };
    return (await microseconds(() => Promise.all(Array.from({ length: 32 }, lane)))) / (32 * block);
  };
  const steps = [alone, bare, together] as const;
  await interleave(2, steps);
  const [aloneUs, bareUs, togetherUs] = await interleave(bench.options.quick ? 10 : 40, steps);
  const common = { engine: "host", unit: "µs", bare: summarize(bareUs), bareWhat: "a line and fdatasync" } as const;
  bench.add({ ...common, what: "an entry, until it would survive kill -9", ours: summarize(aloneUs) });
  bench.add({ ...common, what: "the same, 32 callers at a time, each entry", ours: summarize(togetherUs) });
  const { rows } = await store.audit.verify();
  const verifyUs = await microseconds(() => store.audit.verify());
  bench.add({ engine: "host", unit: "µs", what: "verify, each row", ours: single(verifyUs / rows) });
}

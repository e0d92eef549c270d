import { mkdtemp, readdir, readFile, readlink, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Caisson, openCaisson } from "../packages/server/src/app.ts";
import type { EngineName } from "../packages/server/src/core/engine.ts";

export const root = join(import.meta.dirname, "..");
export const engines: readonly EngineName[] = ["container", "gvisor"];
export const soak = process.env.CAISSON_SOAK === "1";
/** Printed by the test command; the same seed repeats the same choices. */
export const seed = Number(process.env.CAISSON_SEED ?? 1);

export interface TestCaisson extends AsyncDisposable {
  caisson: Caisson;
  home: string;
}

/** A Caisson with a data folder of its own; disposing checks that nothing was left behind (SBX-17). */
export async function openTestCaisson(): Promise<TestCaisson> {
  const home = await mkdtemp("/var/tmp/caisson-test-");
  const caisson = openCaisson({ home, root });
  return {
    caisson,
    home,
    [Symbol.asyncDispose]: async () => {
      await caisson[Symbol.asyncDispose]();
      const leaks = await findLeaks(home);
      await rm(home, { recursive: true, force: true });
      if (leaks.length > 0) throw new Error(`left behind:\n  ${leaks.join("\n  ")}`);
    },
  };
}

/** Everything of the sandboxes of this data folder that still exists on the host. */
export async function findLeaks(home: string): Promise<string[]> {
  const leaks: string[] = [];
  const list = (path: string) => readdir(path).catch(() => []);
  for (const id of await list(join(home, "engine/sandboxes"))) leaks.push(`folder ${id}`);
  for (const block of await list("/sys/block")) {
    const backing = await readFile(`/sys/block/${block}/loop/backing_file`, "utf8").catch(() => "");
    if (backing.includes(home)) leaks.push(`loop device ${block}: ${backing.trim()}`);
  }
  const mounts = await readFile("/proc/self/mountinfo", "utf8");
  for (const row of mounts.split("\n")) if (row.includes(home)) leaks.push(`mount ${row}`);
  for (const slot of await list("/run/caisson/uids")) {
    const owner = await readFile(`/run/caisson/uids/${slot}`, "utf8").catch(() =>
      readlink(`/run/caisson/uids/${slot}`).catch(() => ""),
    );
    if (owner.includes(home)) leaks.push(`uid range ${slot}: ${owner}`);
  }
  for (const pid of await list("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (command.includes(home)) leaks.push(`process ${pid}: ${command.replaceAll("\0", " ")}`);
  }
  return leaks;
}

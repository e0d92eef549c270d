import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { installOver } from "../over-rest.ts";
import { Rest, toJson } from "../rest.ts";
import { interleave, summarize, timeMs } from "../stats.ts";
import type { Workbench } from "../workbench.ts";

const atOnce = 16;
const rounds = { quick: { warmUp: 2, measured: 6 }, whole: { warmUp: 10, measured: 60 } } as const;

/** What the audit log costs the runs of a daemon: the same ones with it and without, turn by turn. */
export async function auditCost(bench: Workbench): Promise<void> {
  const program = fileURLToPath(import.meta.resolve("../audit-server.ts"));
  const args = [program, join(bench.home, "audit-cost")];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "close");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const [port, key = ""] = String((await lines.next()).value).split(" ");
  using rest = new Rest(`http://127.0.0.1:${port}`, key);
  const { id } = await rest.post<{ id: string }>("/api/v1/sandboxes");
  const command = [await installOver(rest, id, "nothing")];
  const many = bench.options.quick ? 100 : 400;
  const run = async () => {
    const answer = await rest.call("POST", `/api/v1/sandboxes/${id}/exec`, { command, track_files: false });
    const { exit_code: code } = toJson<{ exit_code: number }>(answer);
    if (code !== 0) throw new Error(`exit code ${code}`);
  };
  const rate = (word: "on" | "off") => async () => {
    child.stdin.write(`${word}\n`);
    await lines.next();
    let left = many;
    const lane = async () => {
      while (left-- > 0) await run();
    };
    return many / ((await timeMs(() => Promise.all(Array.from({ length: atOnce }, lane)))) / 1000);
  };
  const steps = [rate("on"), rate("off")] as const;
  // Blocks differ by a third on a machine that others use too, and V8 compiles for thousands of runs.
  const { warmUp, measured } = rounds[bench.options.quick ? "quick" : "whole"];
  await interleave(warmUp, steps);
  const [audited, bare] = await interleave(measured, steps);
  bench.add({
    engine: "container",
    what: `runs of a static program, ${atOnce} at once`,
    unit: "/s",
    ours: summarize(audited, true),
    bare: summarize(bare, true),
    bareWhat: "the same server with an audit log that takes nothing",
    notes: [`over REST, track_files off, blocks of ${many} runs, after ${warmUp} of each`],
  });
  await rest.delete(`/api/v1/sandboxes/${id}`);
  child.stdin.end();
  await ended;
}

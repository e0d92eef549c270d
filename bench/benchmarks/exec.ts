import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { programPath } from "../native-programs.ts";
import { runProgram } from "../program.ts";
import { interleave, summarize, timeMs } from "../stats.ts";
import { engines, install, MiB, type Workbench } from "../workbench.ts";

const targets: Record<EngineName, number> = { container: 2, gvisor: 1.2 };
const blockRounds: Record<EngineName, number> = { container: 50, gvisor: 20 };

async function block(rounds: number, step: () => Promise<unknown>): Promise<number[]> {
  const samples: number[] = [];
  for (let round = 0; round < rounds; round++) samples.push(await timeMs(step));
  return samples;
}

const parseUs = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((line) => Number(line) / 1000);

/** posix_spawn and waitpid in one process: on the host, or inside the same gVisor sandbox. */
function spawner(engine: EngineName, sandbox: Sandbox, rounds: number): () => Promise<number[]> {
  if (engine === "container")
    return async () =>
      parseUs((await runProgram(programPath("spawner"), [String(rounds), programPath("nothing")])).stdout);
  const command = ["/workspace/spawner", String(rounds), "/workspace/nothing"];
  return async () => parseUs((await sandbox.exec({ command, trackFiles: false })).stdout);
}

export async function exec(bench: Workbench): Promise<void> {
  const blocks = bench.options.quick ? 4 : 16;
  for (const engine of engines) {
    await using sandbox = await bench.caisson.createSandbox({ engine, limits: { storageBytes: 256 * MiB } });
    const command = [await install(sandbox, "nothing")];
    await install(sandbox, "spawner");
    const rounds = blockRounds[engine];
    const untracked = () => block(rounds, () => sandbox.exec({ command, trackFiles: false }));
    const tracked = () => block(rounds, () => sandbox.exec({ command }));
    const stat = () => block(rounds, () => sandbox.files.stat("nothing"));
    // A process without a program: the guest answers from its loop and forks nothing.
    const answer = () => block(rounds, () => sandbox.wire.open("process", {}, () => undefined).exit);
    const bare = spawner(engine, sandbox, rounds);
    const steps = [bare, untracked, tracked, stat, answer] as const;
    await interleave(1, steps);
    const [bareMs, untrackedMs, trackedMs, statMs, answerMs] = await interleave(blocks, steps);
    const where = engine === "container" ? "on the host" : "inside the same sandbox";
    bench.add({
      engine,
      what: "exec of a static program",
      unit: "ms",
      ours: summarize(untrackedMs),
      bare: summarize(bareMs),
      bareWhat: `posix_spawn and waitpid of the same program by a C program ${where}`,
      target: { of: "ratio", atMost: targets[engine] },
      notes: ["trackFiles off, blocks of runs interleaved"],
    });
    const bareSummary = summarize(bareMs);
    bench.add({ engine, what: "with files_changed", unit: "ms", ours: summarize(trackedMs), bare: bareSummary });
    bench.add({ engine, what: "files.stat", unit: "ms", ours: summarize(statMs) });
    bench.add({ engine, what: "wire round trip", unit: "ms", ours: summarize(answerMs) });
  }
}

import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { truePath } from "../machine.ts";
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
function spawner(engine: EngineName, sandbox: Sandbox, rounds: number, program?: string): () => Promise<number[]> {
  if (engine === "container") {
    const args = [String(rounds), program ?? programPath("nothing")];
    return async () => parseUs((await runProgram(programPath("spawner"), args)).stdout);
  }
  const command = ["/workspace/spawner", String(rounds), program ?? "/workspace/nothing"];
  return async () => parseUs((await sandbox.exec({ command, trackFiles: false })).stdout);
}

async function measure(bench: Workbench, engine: EngineName, sandbox: Sandbox) {
  const command = [await install(sandbox, "nothing")];
  await install(sandbox, "spawner");
  const rounds = blockRounds[engine];
  const steps = {
    bare: spawner(engine, sandbox, rounds),
    untracked: () => block(rounds, () => sandbox.exec({ command, trackFiles: false })),
    bareTrue: spawner(engine, sandbox, rounds, truePath),
    oursTrue: () => block(rounds, () => sandbox.exec({ command: [truePath], trackFiles: false })),
    tracked: () => block(rounds, () => sandbox.exec({ command })),
    stat: () => block(rounds, () => sandbox.files.stat("nothing")),
    // A process without a program: the guest answers from its loop and forks nothing.
    answer: () => block(rounds, () => sandbox.wire.open("process", {}, () => undefined).exit),
  };
  const names = Object.keys(steps) as (keyof typeof steps)[];
  const list = names.map((name) => steps[name]);
  await interleave(1, list);
  const samples = await interleave(bench.options.quick ? 4 : 16, list);
  return (name: keyof typeof steps) => summarize(samples[names.indexOf(name)] ?? []);
}

export async function exec(bench: Workbench): Promise<void> {
  for (const engine of engines) {
    await using sandbox = await bench.caisson.createSandbox({ engine, limits: { storageBytes: 256 * MiB } });
    const of = await measure(bench, engine, sandbox);
    const where = engine === "container" ? "on the host" : "inside the same sandbox";
    const bareWhat = `posix_spawn and waitpid of the same program by a C program ${where}`;
    const target = { of: "ratio" as const, atMost: targets[engine] };
    const notes = ["trackFiles off, blocks of runs interleaved"];
    const [bare, bareTrue] = [of("bare"), of("bareTrue")];
    const line = { engine, unit: "ms" } as const;
    bench.add({ ...line, what: "a static program", ours: of("untracked"), bare, bareWhat, target, notes });
    bench.add({ ...line, what: `${truePath}, dynamic`, ours: of("oursTrue"), bare: bareTrue });
    bench.add({ ...line, what: "static, with files_changed", ours: of("tracked"), bare });
    bench.add({ ...line, what: "files.stat", ours: of("stat") });
    bench.add({ ...line, what: "wire round trip", ours: of("answer") });
  }
}

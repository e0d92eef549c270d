import { join } from "node:path";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { Daemon } from "../daemon.ts";
import { truePath } from "../machine.ts";
import { programPath } from "../native-programs.ts";
import { installOver } from "../over-rest.ts";
import { runProgram } from "../program.ts";
import { toJson } from "../rest.ts";
import { interleave, summarize, timeMs } from "../stats.ts";
import { engines, type Workbench } from "../workbench.ts";

const blockRounds = 25;
const atOnce = 16;
const target = { of: "value", atMost: 5 } as const;

interface RunResult {
  exit_code: number | null;
  stdout: string;
}

const parseUs = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((line) => Number(line) / 1000);

async function measure(bench: Workbench, engine: EngineName): Promise<void> {
  await using daemon = await Daemon.start({ home: join(bench.home, engine), engine, poolSize: 0 });
  const { id } = await daemon.rest.post<{ id: string }>("/api/v1/sandboxes");
  const nothing = await installOver(daemon.rest, id, "nothing");
  const spawner = await installOver(daemon.rest, id, "spawner");
  const run = async (command: string[], trackFiles = false) => {
    const answer = await daemon.rest.call("POST", `/api/v1/sandboxes/${id}/exec`, { command, track_files: trackFiles });
    const result = toJson<RunResult>(answer);
    if (result.exit_code !== 0) throw new Error(`${command.join(" ")}: exit code ${result.exit_code}`);
    return { ...answer, result };
  };
  const block = async (command: string[], trackFiles: boolean) => {
    const samples: number[] = [];
    while (samples.length < blockRounds) samples.push((await run(command, trackFiles)).tookMs);
    return samples;
  };
  /** posix_spawn and waitpid in one process: on the host, or inside the same gVisor sandbox. */
  const bare = (program: { host: string; inside: string }) => async () => {
    const rounds = String(blockRounds);
    if (engine === "gvisor") return parseUs((await run([spawner, rounds, program.inside])).result.stdout);
    return parseUs((await runProgram(programPath("spawner"), [rounds, program.host])).stdout);
  };
  const rate = async () => {
    const many = bench.options.quick ? 100 : 400;
    let left = many;
    const worker = async () => {
      while (left-- > 0) await run([nothing]);
    };
    return many / ((await timeMs(() => Promise.all(Array.from({ length: atOnce }, worker)))) / 1000);
  };
  const serverMs: number[] = [];
  const steps = [
    bare({ host: programPath("nothing"), inside: nothing }),
    () => block([nothing], false),
    bare({ host: truePath, inside: truePath }),
    () => block([truePath], false),
    () => block([nothing], true),
    async () => {
      serverMs.push((await run([nothing])).serverMs);
      return serverMs.at(-1) ?? Number.NaN;
    },
  ] as const;
  await interleave(2, steps);
  const samples = await interleave(bench.options.quick ? 4 : 16, steps);
  const [bareStatic, ours, bareTrue, oursTrue, tracked, server] = samples.map((one) => summarize(one));
  if (!bareStatic || !ours || !bareTrue || !oursTrue || !tracked || !server) throw new Error("nothing was measured");
  const [rates] = await interleave(bench.options.quick ? 2 : 5, [rate]);
  const where = engine === "container" ? "on the host" : "inside the same sandbox";
  const bareWhat = `posix_spawn and waitpid of the same program by a C program ${where}`;
  const promised = engine === "container" ? { target } : {};
  const line = { engine, unit: "ms" } as const;
  const notes = ["track_files off, one kept connection, blocks of runs interleaved"];
  bench.add({ ...line, what: "a static program", ours, bare: bareStatic, bareWhat, notes, ...promised });
  bench.add({ ...line, what: `${truePath}, dynamic`, ours: oursTrue, bare: bareTrue, ...promised });
  bench.add({ ...line, what: "static, with files_changed", ours: tracked, bare: bareStatic });
  bench.add({ ...line, what: "static, server side", ours: server });
  bench.add({ engine, unit: "/s", what: `static, ${atOnce} at once`, ours: summarize(rates, true) });
}

export async function restExec(bench: Workbench): Promise<void> {
  for (const engine of engines) await measure(bench, engine);
}

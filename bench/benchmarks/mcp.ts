import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { Daemon } from "../daemon.ts";
import { runProgram } from "../program.ts";
import { installPython } from "../python-peer.ts";
import { interleave, summarize, timeMs } from "../stats.ts";
import { engines, type Workbench } from "../workbench.ts";

const pythonPath = "/usr/bin/python3";
const code = "print(1)";
const blockRounds = 10;
const peer = "mcpaisuite-sandboxmcp==1.1.0";

/** Its own program, without a protocol in between: a sandbox that is there, and the same line again and again. */
const peerCode = (rounds: number) => `import asyncio, time
from sandboxmcp.core.models import ExecutionRequest
from sandboxmcp.factory import SandboxFactory
async def main():
    sandbox = SandboxFactory.create()
    for turn in range(${rounds} + 3):
        start = time.perf_counter()
        result = await sandbox.execute(ExecutionRequest(code="${code}", language="python"))
        took = time.perf_counter() - start
        assert result.stdout.strip() == "1", result
        if turn >= 3: print("took", took * 1000)
asyncio.run(main())`;

async function connect({ rest }: Daemon, era: "2025-11-25" | "2026-07-28"): Promise<Client> {
  const mode = era === "2025-11-25" ? "legacy" : { pin: era };
  const client = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode } });
  const requestInit = { headers: { "x-api-key": rest.key } };
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", rest.address), { requestInit }));
  return client;
}

async function run(client: Client, input: object, signal?: AbortSignal): Promise<void> {
  const options = signal === undefined ? {} : { signal };
  const result = await client.callTool({ name: "execute_code", arguments: { language: "python", ...input } }, options);
  if (result.isError) throw new Error(JSON.stringify(result.content));
}

const block = (act: () => Promise<unknown>) => async () => {
  const samples: number[] = [];
  while (samples.length < blockRounds) samples.push(await timeMs(act));
  return samples;
};

/** Processes of this machine with the mark among their arguments. */
async function marked(mark: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map(async (pid) => ((await argumentsOf(pid)).includes(mark) ? [pid] : [])));
  return found.flat();
}

async function argumentsOf(pid: string): Promise<string[]> {
  return (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
}

/** From the cancellation until no process of the run is left, as the host sees them. */
async function cancelMs(client: Client, mark: string): Promise<number> {
  const control = new AbortController();
  const tree = `sh -c 'sleep ${mark} & sleep ${mark}' & sleep ${mark} & wait`;
  const over = run(client, { language: "shell", code: tree }, control.signal).catch(() => undefined);
  let pids: string[] = [];
  while (pids.length < 3) pids = await marked(mark);
  return timeMs(async () => {
    control.abort();
    while ((await Promise.all(pids.map(argumentsOf))).some((args) => args.includes(mark))) await sleep(0);
    await over;
  });
}

async function measure(bench: Workbench, engine: EngineName): Promise<void> {
  await using daemon = await Daemon.start({ home: join(bench.home, engine), engine, poolSize: 0 });
  const legacy = await connect(daemon, "2025-11-25");
  const modern = await connect(daemon, "2026-07-28");
  const steps = [
    async () => {
      const samples: number[] = [];
      while (samples.length < blockRounds) samples.push((await runProgram(pythonPath, ["-c", code])).totalMs);
      return samples;
    },
    block(() => run(modern, { code })),
    block(() => run(legacy, { code })),
    block(() => modern.listTools({}, { cacheMode: "refresh" } as never)),
  ] as const;
  await interleave(bench.options.quick ? 4 : 20, steps);
  const [host, ours, oursLegacy, list] = await interleave(bench.options.quick ? 6 : 30, steps);
  const line = { engine, unit: "ms" } as const;
  const bare = summarize(host);
  const bareWhat = `${pythonPath} -c '${code}' on the host`;
  const promised = (target: object) => (engine === "container" ? { target: target as never } : {});
  const what = `execute_code, python ${code}`;
  bench.add({
    ...{ ...line, what: `${what}, 2026-07-28`, ours: summarize(ours), bare, bareWhat },
    ...promised({ of: "ratio", atMost: 1 }),
    notes: ["the official TypeScript client over HTTP on loopback, its own work included"],
  });
  bench.add({ ...line, what: `${what}, 2025-11-25`, ours: summarize(oursLegacy), bare });
  bench.add({ ...line, what: "tools/list", ours: summarize(list), ...promised({ of: "value", atMost: 5 }) });
  if (engine === "container") {
    let mark = 770_000;
    const [ended] = await interleave(bench.options.quick ? 5 : 20, [() => cancelMs(legacy, String(++mark))]);
    bench.add({
      ...line,
      what: "cancel until its tree is gone",
      ours: summarize(ended),
      target: { of: "value", atMost: 100 },
    });
    await besidePeer(bench, ours);
  }
  await Promise.all([legacy.close(), modern.close()]);
}

/** Left out where it does not install. */
async function besidePeer(bench: Workbench, ours: readonly number[]): Promise<void> {
  try {
    const python = await installPython(peer);
    const { stdout } = await runProgram(python, ["-c", peerCode(bench.options.quick ? 10 : 50)]);
    const samples = [...stdout.matchAll(/^took ([\d.]+)$/gm)].map(([, took]) => Number(took));
    bench.add({
      ...{ engine: "container", unit: "ms", what: `the same, beside ${peer}`, ours: summarize(ours) },
      ...{ bare: summarize(samples), bareWhat: `${peer}, called in its own process without a protocol` },
    });
  } catch (error) {
    bench.say(`${peer} is left out: ${String(error).trim().split("\n").at(-1)}`);
  }
}

/** The agent's door. */
export async function mcp(bench: Workbench): Promise<void> {
  for (const engine of engines) await measure(bench, engine);
}

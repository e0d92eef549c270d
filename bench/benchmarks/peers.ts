import { access, copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Daemon } from "../daemon.ts";
import { Docker } from "../docker.ts";
import { programPath } from "../native-programs.ts";
import { installOver } from "../over-rest.ts";
import { npmPath, runProgram, surroundings } from "../program.ts";
import { importPython } from "../python-image.ts";
import { interleave, summarize } from "../stats.ts";
import type { Workbench } from "../workbench.ts";

const path = "/api/v1/sandboxes";
const bubblewrapPath = "/usr/bin/bwrap";
const pythonPath = "/usr/bin/python3";
const pythonImage = "caisson-bench-python";

interface Peer {
  name: string;
  /** What it runs, and ours beside it. */
  runs: "a static program" | "one line of Python";
  /** Installs it if need be; throws why it cannot run here. Some bring a sandbox that is Docker's. */
  prepare(folder: string, docker: () => Promise<Docker>): Promise<() => Promise<number>>;
}

/** The whole way to one line of output: what each asks of its user for it. */
const peers: readonly Peer[] = [
  {
    name: "bubblewrap",
    runs: "a static program",
    prepare: async (folder) => {
      await access(bubblewrapPath);
      const args = [
        "--unshare-all",
        "--die-with-parent",
        "--ro-bind",
        folder,
        "/app",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
      ];
      return () => firstByteMs(bubblewrapPath, [...args, "/app/hello"]);
    },
  },
  {
    name: "@anthropic-ai/sandbox-runtime",
    runs: "a static program",
    prepare: async (folder) => {
      const npm = await firstOf([join(process.execPath, "../npm"), npmPath]);
      const args = ["install", "--prefix", folder, "--no-audit", "--no-fund", "@anthropic-ai/sandbox-runtime"];
      await runProgram(npm, args, surroundings);
      const program = join(folder, "node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js");
      return () => firstByteMs(process.execPath, [program, join(folder, "hello")], { HOME: folder });
    },
  },
  pythonPeer(
    "mcpaisuite-sandboxmcp",
    `import asyncio, time
from sandboxmcp.core.models import ExecutionRequest
from sandboxmcp.factory import SandboxFactory
async def main():
    start = time.perf_counter()
    sandbox = SandboxFactory.create()
    result = await sandbox.execute(ExecutionRequest(code="print('x')", language="python"))
    took = time.perf_counter() - start
    assert result.stdout.strip() == "x", result
    print(took * 1000)
asyncio.run(main())`,
  ),
  pythonPeer(
    "llm-sandbox[docker]",
    // Its own image would come from a registry, and be given a virtual environment at each start.
    `import time
from llm_sandbox import SandboxSession
start = time.perf_counter()
own = dict(image="${pythonImage}", skip_environment_setup=True, runtime_configs=dict(network_mode="none"))
with SandboxSession(lang="python", **own) as session:
    result = session.run("print('x')")
    took = time.perf_counter() - start
    assert "x" in result.stdout
print(took * 1000)`,
    true,
  ),
];

/** Of PyPI, in an environment of its own; the time is its own, without the start of Python. */
function pythonPeer(name: string, code: string, needsDocker = false): Peer {
  return {
    name,
    runs: "one line of Python",
    prepare: async (folder, docker) => {
      const place = join(folder, "python");
      await runProgram(pythonPath, ["-m", "venv", place]);
      await runProgram(
        join(place, "bin/pip"),
        ["install", "--quiet", "--disable-pip-version-check", name],
        surroundings,
      );
      const env: Record<string, string> = {};
      if (needsDocker) {
        const running = await docker();
        await importPython(running, folder, pythonImage);
        env.DOCKER_HOST = running.address;
      }
      const run = async () =>
        Number((await runProgram(join(place, "bin/python"), ["-c", code], { env })).stdout.trim().split("\n").at(-1));
      await run();
      return run;
    },
  };
}

async function firstOf(paths: readonly string[]): Promise<string> {
  for (const path of paths)
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path;
  throw new Error(`none of ${paths.join(", ")} is there`);
}

async function firstByteMs(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<number> {
  const { firstByteMs: took } = await runProgram(program, args, { env });
  if (took === undefined) throw new Error(`${program} said nothing`);
  return took;
}

/** Others that run a command in a sandbox, beside ours from the pool; each is left out where it does not install. */
export async function peersOf(bench: Workbench): Promise<void> {
  await using daemon = await Daemon.start({ home: join(bench.home, "daemon"), engine: "container", poolSize: 4 });
  const ours = (runs: Peer["runs"]) => async () => {
    await daemon.poolFull();
    const startMs = performance.now();
    const { id } = await daemon.rest.post<{ id: string }>(path);
    if (runs === "one line of Python")
      await daemon.rest.post(`${path}/${id}/execute_code`, { language: "python", code: "print('x')" });
    else await daemon.rest.post(`${path}/${id}/exec`, { command: [await installOver(daemon.rest, id, "hello")] });
    const tookMs = performance.now() - startMs;
    await daemon.rest.delete(`${path}/${id}`);
    return tookMs;
  };
  await using stack = new AsyncDisposableStack();
  const docker = async () => {
    let why = "";
    const started = await Docker.start(bench.home, (told) => {
      why = told;
    });
    if (started === undefined) throw new Error(`without Docker: ${why}`);
    return stack.use(started);
  };
  for (const [index, peer] of peers.entries()) {
    const folder = join(bench.home, `peer-${index}`);
    await mkdir(folder, { recursive: true });
    await copyFile(programPath("hello"), join(folder, "hello"));
    try {
      const theirs = await peer.prepare(folder, docker);
      await interleave(1, [ours(peer.runs), theirs]);
      const [samples, bare] = await interleave(bench.options.quick ? 5 : 20, [ours(peer.runs), theirs]);
      bench.add({
        engine: "container",
        what: `${peer.runs}, beside ${peer.name}`,
        unit: "ms",
        ours: summarize(samples),
        bare: summarize(bare),
        bareWhat: `${peer.name}, the same to its first output`,
      });
    } catch (error) {
      const lines = String(error).trim().split("\n");
      bench.say(`${peer.name} is left out: ${lines.at(-1)}`);
    }
  }
}

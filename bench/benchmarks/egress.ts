import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { openCaisson } from "../../packages/server/src/app.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { dnsHost } from "../../test/egress/hosts.ts";
import { programPath, root } from "../native-programs.ts";
import { runProgram } from "../program.ts";
import { interleave, summarize } from "../stats.ts";
import { allCpus, engines, GiB, install, MiB, type Workbench } from "../workbench.ts";

const name = "bench.example";
const connects = 50;

interface Server extends AsyncDisposable {
  port: number;
}

async function serve(bytes: number): Promise<Server> {
  const child: ChildProcess = spawn(programPath("tcp"), ["serve", "0", String(bytes)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout as NonNullable<typeof child.stdout>, "data")) as [Buffer];
  return {
    port: Number(line.toString()),
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill();
      await ended;
    },
  };
}

function rateOf(told: string, expected: number): number {
  const [bytes = 0, seconds = 1] = told.trim().split(" ").map(Number);
  if (bytes !== expected) throw new Error(`${bytes} bytes came, not ${expected}`);
  return bytes / 1e6 / seconds;
}

const median = (told: string) => {
  const sorted = told
    .trim()
    .split("\n")
    .map(Number)
    .sort((left, right) => left - right);
  return (sorted[sorted.length >> 1] ?? 0) / 1000;
};

async function inSandbox(sandbox: Sandbox, command: string[]): Promise<string> {
  const limits = { timeoutMs: 600_000, cpuTimeMs: 3_600_000 };
  const { stdout, stderr, exit_code } = await sandbox.exec({ command, trackFiles: false, limits });
  if (exit_code !== 0) throw new Error(`${command.join(" ")}: ${stderr}`);
  return stdout;
}

/** What connections to the world lose by the gate: bytes a second, and time to the first byte. */
export async function egress(bench: Workbench): Promise<void> {
  const size = (bench.options.quick ? 0.5 : 1) * GiB;
  const rounds = bench.options.quick ? 5 : 11;
  await using dns = await dnsHost({ [name]: "127.0.0.1" });
  await using source = await serve(size);
  await using greeter = await serve(1);
  await using caisson = openCaisson({
    home: join(bench.home, "egress"),
    root,
    network: { dnsServers: [dns.address] },
  });
  for (const engine of engines) {
    const allow = [source, greeter].map(({ port }) => ({
      host: name,
      port,
      protocol: "tcp" as const,
      ranges: ["127.0.0.0/8"],
    }));
    await using sandbox = await caisson.createSandbox({
      engine,
      limits: { storageBytes: 64 * MiB, ...allCpus },
      network: { allow },
    });
    const program = await install(sandbox, "tcp");
    await bytes(bench, { engine, sandbox, program, size, rounds, port: source.port });
    const [inside, outside] = await interleave(rounds, [
      async () => median(await inSandbox(sandbox, [program, "first", name, String(greeter.port), String(connects)])),
      async () =>
        median(
          (await runProgram(programPath("tcp"), ["first", "127.0.0.1", String(greeter.port), String(connects)])).stdout,
        ),
    ]);
    const added = (inside ?? []).map((ms, round) => ms - (outside?.[round] ?? 0));
    bench.add({
      engine,
      what: "added from connect to the first byte",
      unit: "ms",
      ours: summarize(added),
      ...(engine === "container" ? { target: { of: "value", atMost: 1 } as const } : {}),
      notes: [`median of ${connects} connections a round; policy, name, address, dial and log included`],
    });
  }
}

interface BytesParts {
  engine: EngineName;
  sandbox: Sandbox;
  program: string;
  size: number;
  rounds: number;
  port: number;
}

async function bytes(bench: Workbench, { engine, sandbox, program, size, rounds, port }: BytesParts): Promise<void> {
  const own = `${program} serve 9000 ${size} > /tmp/port & until [ -s /tmp/port ]; do :; done; ${program} pull 127.0.0.1 9000; kill %1`;
  const bare =
    engine === "gvisor"
      ? async () => rateOf(await inSandbox(sandbox, ["/bin/bash", "-c", `rm -f /tmp/port; ${own}`]), size)
      : async () => rateOf((await runProgram(programPath("tcp"), ["pull", "127.0.0.1", String(port)])).stdout, size);
  const [bareRates, rates] = await interleave(rounds, [
    bare,
    async () => rateOf(await inSandbox(sandbox, [program, "pull", name, String(port)]), size),
  ]);
  bench.add({
    engine,
    what: "one connection from the world, tcp",
    unit: "MB/s",
    ours: summarize(rates ?? [], true),
    bare: summarize(bareRates ?? [], true),
    bareWhat: engine === "gvisor" ? "the sandbox's own loopback" : "the host's loopback",
    target: { of: "ratio", atLeast: engine === "gvisor" ? 0.5 : 0.15 },
  });
}

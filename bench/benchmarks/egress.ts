import { join } from "node:path";
import { openCaisson } from "../../packages/server/src/app.ts";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { dnsHost } from "../../test/egress/hosts.ts";
import { inSandbox, median, rateOf, serve } from "../egress-parts.ts";
import { programPath, root } from "../native-programs.ts";
import { runProgram } from "../program.ts";
import { interleave, summarize } from "../stats.ts";
import { allCpus, engines, GiB, install, MiB, type Workbench } from "../workbench.ts";

const name = "bench.example";
const connects = 50;

/** What connections to the world lose by the gate: bytes a second, and time to the first byte. */
export async function egress(bench: Workbench): Promise<void> {
  const size = (bench.options.quick ? 0.5 : 1) * GiB;
  const rounds = bench.options.quick ? 5 : 11;
  await using dns = await dnsHost({ [name]: "127.0.0.1" });
  await using source = await serve("serve", "0", String(size));
  await using sink = await serve("take", "0");
  await using greeter = await serve("serve", "0", "1");
  await using caisson = openCaisson({
    home: join(bench.home, "egress"),
    root,
    network: { dnsServers: [dns.address] },
  });
  for (const engine of engines) {
    const allow = [source, sink, greeter].map(({ port }) => ({
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
    await upload(bench, { engine, sandbox, program, size, rounds, port: sink.port });
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
    target: engine === "gvisor" ? { of: "value", atLeast: 200 } : { of: "ratio", atLeast: 0.15 },
  });
}

async function upload(bench: Workbench, { engine, sandbox, program, size, rounds, port }: BytesParts): Promise<void> {
  const [bareRates, rates] = await interleave(rounds, [
    async () =>
      rateOf((await runProgram(programPath("tcp"), ["push", "127.0.0.1", String(port), String(size)])).stdout, size),
    async () => rateOf(await inSandbox(sandbox, [program, "push", name, String(port), String(size)]), size),
  ]);
  bench.add({
    engine,
    what: "one connection to the world, tcp",
    unit: "MB/s",
    ours: summarize(rates ?? [], true),
    bare: summarize(bareRates ?? [], true),
    bareWhat: "the host's loopback",
  });
}

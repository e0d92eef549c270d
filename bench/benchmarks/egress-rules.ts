import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Caisson, openCaisson } from "../../packages/server/src/app.ts";
import { gatePlaces } from "../../packages/server/src/egress/gate-limits.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { dnsHost } from "../../test/egress/hosts.ts";
import { inSandbox, median, serve } from "../egress-parts.ts";
import { root } from "../native-programs.ts";
import { interleave, summarize } from "../stats.ts";
import { allCpus, engines, GiB, install, MiB, type Workbench } from "../workbench.ts";

const name = "bench.example";
/** Longer than any round lasts. */
const endlessBytes = 1024 * GiB;
const attempts = 50;

/** How soon rules show: a download that loses its rule, and what nobody is there to be asked about. */
export async function egressRules(bench: Workbench): Promise<void> {
  const rounds = bench.options.quick ? 5 : 21;
  await using dns = await dnsHost({ [name]: "127.0.0.1" });
  await using source = await serve("serve", "0", String(endlessBytes));
  await using caisson = openCaisson({ home: join(bench.home, "rules"), root, network: { dnsServers: [dns.address] } });
  for (const engine of engines) {
    await using sandbox = await caisson.createSandbox({ engine, limits: { storageBytes: 64 * MiB, ...allCpus } });
    const program = await install(sandbox, "tcp");
    const pull = [program, "pull", name, String(source.port)];
    const proxy = [program, "first", gatePlaces.address, String(gatePlaces.proxyPort), String(attempts)];
    const [cuts, refusals] = await interleave(rounds, [
      () => cutMs(caisson, sandbox, source.port, pull),
      async () => {
        (await caisson.policies()).setSandbox(sandbox.id, { sandbox: { allow: [], deny: [], unknown: "ask" } });
        return median(await inSandbox(sandbox, [...proxy, `${name}:443`]));
      },
    ]);
    bench.add({
      engine,
      what: "from the end of a rule to the end of its download",
      unit: "ms",
      ours: summarize(cuts ?? []),
      target: { of: "value", atMost: 100 },
      notes: ["until the run of the program that was downloading has ended"],
    });
    bench.add({
      engine,
      what: "a refusal where nobody is there to be asked",
      unit: "ms",
      ours: summarize(refusals ?? []),
      target: { of: "value", atMost: 5 },
      notes: [`median of ${attempts} attempts a round; from connect to the first byte of the proxy's answer`],
    });
  }
}

async function cutMs(caisson: Caisson, sandbox: Sandbox, port: number, pull: string[]): Promise<number> {
  const policies = await caisson.policies();
  const rule = { host: name, port, protocol: "tcp" as const, ranges: ["127.0.0.0/8"] };
  policies.setSandbox(sandbox.id, { sandbox: { allow: [rule], deny: [] } });
  const ended = inSandbox(sandbox, pull).then((told) => ({ told, atMs: performance.now() }));
  await sleep(500); // it is under way by then: what came is looked at below
  const start = performance.now();
  policies.setSandbox(sandbox.id, { sandbox: { allow: [], deny: [] } });
  const { told, atMs } = await ended;
  if (Number(told.split(" ")[0]) < MiB) throw new Error(`the download had only begun: ${told}`);
  return atMs - start;
}

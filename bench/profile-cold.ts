import type { EngineName, WirePaths } from "../packages/server/src/core/engine.ts";
import { type Argument, HelperClient } from "../packages/server/src/engines/oci/helper-client.ts";
import { WireConnection } from "../packages/server/src/wire/connection.ts";
import { median } from "./stats.ts";
import { showNumber } from "./table.ts";
import type { Workbench } from "./workbench.ts";

interface Span {
  label: string;
  startMs: number;
  endMs: number;
}

/** The C helper's own steps of a launch, `name:microseconds,…`, laid out one after the other up to its end. */
function launchSteps(timings: string, endMs: number): Span[] {
  const steps = timings.split(",").map((step) => step.split(":"));
  let at = endMs - steps.reduce((sum, [, us]) => sum + Number(us) / 1000, 0);
  return steps.map(([name, us]) => {
    const startMs = at;
    at += Number(us) / 1000;
    return { label: `  helper ${name}`, startMs, endMs: at };
  });
}

/** Puts clocks around the helper's verbs and the first answer of the guest, for as long as it is not disposed. */
function watch(spans: Span[]): Disposable {
  const { request } = HelperClient.prototype;
  const { attach } = WireConnection;
  HelperClient.prototype.request = async function (verb: string, args: readonly Argument[]) {
    const startMs = performance.now();
    const reply = await request.call(this, verb, args);
    const endMs = performance.now();
    spans.push({ label: verb === "changes" ? "look at files" : verb, startMs, endMs });
    if (reply.timings !== undefined) spans.push(...launchSteps(reply.timings, endMs));
    return reply;
  };
  WireConnection.attach = async (paths: WirePaths, died: Promise<string>) => {
    const startMs = performance.now();
    const wire = await attach.call(WireConnection, paths, died);
    spans.push({ label: "guest answers", startMs, endMs: performance.now() });
    return wire;
  };
  return {
    [Symbol.dispose]: () => {
      HelperClient.prototype.request = request;
      WireConnection.attach = attach;
    },
  };
}

async function once(bench: Workbench, engine: EngineName, inputFolder: string, storageBytes: number): Promise<Span[]> {
  const spans: Span[] = [];
  using _clocks = watch(spans);
  const startMs = performance.now();
  await using sandbox = await bench.caisson.createSandbox({ engine, limits: { storageBytes }, inputFolder });
  const created = performance.now();
  spans.push({ label: "createSandbox", startMs, endMs: created });
  let first: number | undefined;
  const onOutput = () => {
    first ??= performance.now();
    return undefined;
  };
  await sandbox.exec({ command: ["/workspace/input/hello"], onOutput });
  const endMs = first ?? performance.now();
  spans.push({ label: "exec to first byte", startMs: created, endMs }, { label: "whole", startMs, endMs });
  const before = spans.filter((span) => span.startMs < endMs);
  return [...before, ...between(before)];
}

/** What Node does between the helper's verbs: uid range, cgroups, workspace file, bundle; then the checks. */
function between(spans: readonly Span[]): Span[] {
  const ends = ["claim", "launch", "guest answers"].map((label) => spans.find((span) => span.label === label));
  return ends.slice(1).flatMap((later, index) => {
    const earlier = ends[index];
    if (earlier === undefined || later === undefined) return [];
    return [{ label: `node: ${earlier.label} to ${later.label}`, startMs: earlier.endMs, endMs: later.startMs }];
  });
}

/** Where the time of a cold start goes, as far as its parts tell. */
export async function profileCold(
  bench: Workbench,
  engine: EngineName,
  inputFolder: string,
  storageBytes: number,
): Promise<void> {
  const found = new Map<string, { tookMs: number[]; atMs: number[] }>();
  for (let round = 0; round < (bench.options.quick ? 5 : 20); round++) {
    const spans = await once(bench, engine, inputFolder, storageBytes);
    const beginMs = Math.min(...spans.map((span) => span.startMs));
    for (const { label, startMs, endMs } of spans) {
      const entry = found.get(label) ?? { tookMs: [], atMs: [] };
      entry.tookMs.push(endMs - startMs);
      entry.atMs.push(startMs - beginMs);
      found.set(label, entry);
    }
  }
  const rows = [...found].map(([label, { tookMs, atMs }]) => ({ label, took: median(tookMs), at: median(atMs) }));
  bench.say(`profile of cold, ${engine} (medians; at, took):`);
  for (const { label, at, took } of rows.sort((a, b) => a.at - b.at || b.took - a.took))
    bench.say(`  ${showNumber(at).padStart(7)} ms  ${showNumber(took).padStart(7)} ms  ${label}`);
}

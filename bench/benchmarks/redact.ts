import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ValueRedactor } from "../../packages/server/src/dlp/redactor.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { root } from "../native-programs.ts";
import { interleave, summarize } from "../stats.ts";
import { allCpus, GiB, install, MiB, type Workbench } from "../workbench.ts";

const values = 50;
const chunkBytes = 64 * 1024;

/** Tokens as services give them out, and one in five with characters that every encoding changes. */
function makeValues(): Buffer[] {
  const token = (bytes: number) => randomBytes(bytes).toString("base64url");
  const kinds = [
    () => `ghp_${token(27)}`,
    () => randomBytes(20).toString("hex"),
    () => `p@ss "w\\ord"/${token(6)}\n€`,
    () => randomBytes(32).toString("base64"),
    () => `sk-${token(24)}`,
  ];
  return Array.from({ length: values }, (_, index) => Buffer.from(kinds[index % kinds.length]?.() ?? ""));
}

async function texts(): Promise<Record<string, Buffer>> {
  const code = await readFile(join(root, "package-lock.json"));
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `user ${id}`, at: id / 7, tags: ["a", "b"] }));
  const source = await readFile(join(import.meta.dirname, "redact.ts"));
  return {
    "JSON of a lock file": Buffer.concat(Array(16).fill(code)),
    "JSON rows": Buffer.from(JSON.stringify(rows)),
    source: Buffer.concat(Array(2_000).fill(source)),
    base64: Buffer.from(randomBytes(6 * MiB).toString("base64")),
    "random bytes": randomBytes(8 * MiB),
  };
}

function rate(redactor: ValueRedactor, text: Buffer): number {
  const stream = redactor.stream("mark");
  const start = performance.now();
  for (let at = 0; at < text.length; at += chunkBytes) stream.push(text.subarray(at, at + chunkBytes));
  stream.end();
  return text.length / 1_000 / (performance.now() - start);
}

async function execRate(sandbox: Sandbox, command: string[], size: number): Promise<number> {
  let bytes = 0;
  const start = performance.now();
  const onOutput = (_: string, chunk: Buffer) => {
    bytes += chunk.length;
    return undefined;
  };
  await sandbox.exec({ command, onOutput, trackFiles: false, limits: { timeoutMs: 600_000, cpuTimeMs: 3_600_000 } });
  if (bytes !== size) throw new Error(`${bytes} bytes came, not ${size}`);
  return bytes / 1_000 / (performance.now() - start);
}

/** Output without the values bound to a sandbox: how fast, and what it costs where there are none. */
export async function redact(bench: Workbench): Promise<void> {
  const redactor = new ValueRedactor();
  redactor.hide(makeValues());
  const rounds = bench.options.quick ? 5 : 15;
  for (const [what, text] of Object.entries(await texts())) {
    const [rates] = await interleave(rounds, [async () => rate(redactor, text)]);
    bench.add({
      engine: "host",
      what: `${values} values in all forms, ${what}`,
      unit: "MB/s",
      ours: summarize(rates ?? [], true),
      target: { of: "value", atLeast: 200 },
    });
  }
  const size = (bench.options.quick ? 1 : 2) * GiB;
  const make = () =>
    bench.caisson.createSandbox({ engine: "container", limits: { storageBytes: 64 * MiB, ...allCpus } });
  await using plain = await make();
  await using bound = await make();
  bound.redactor.hide(makeValues());
  const zeros = Buffer.alloc(8 * MiB);
  const command = [await install(plain, "zeros"), String(size)];
  await install(bound, "zeros");
  const [plainRates, boundRates, ownRates] = await interleave(rounds, [
    () => execRate(plain, command, size),
    () => execRate(bound, command, size),
    async () => rate(redactor, zeros),
  ]);
  const inTurn = (plainRates ?? []).map((rate, round) => 1 / (1 / rate + 1 / (ownRates?.[round] ?? 0)));
  bench.add({
    engine: "container",
    what: `output of a run with ${values} values bound`,
    unit: "MB/s",
    ours: summarize(boundRates ?? [], true),
    bare: summarize(inTurn, true),
    bareWhat: "output without values, then the redactor alone, one after the other",
    target: { of: "ratio", atLeast: 0.9 },
    notes: [`the redactor alone: ${Math.round(summarize(ownRates ?? [], true).median)} MB/s`],
  });
  bench.add({
    engine: "container",
    what: "the same with none bound",
    unit: "MB/s",
    ours: summarize(plainRates ?? [], true),
  });
  const idle = new ValueRedactor();
  const [idleRates] = await interleave(rounds, [async () => rate(idle, zeros)]);
  const shares = (plainRates ?? []).map((one, round) => (100 * one) / (idleRates?.[round] ?? 0));
  bench.add({
    engine: "container",
    what: "what redaction takes of it with none bound",
    unit: "%",
    ours: summarize(shares),
    target: { of: "value", atMost: 2 },
    notes: ["time of the redactor for a chunk over that of the run's output for it"],
  });
}

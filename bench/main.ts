import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { audit } from "./benchmarks/audit.ts";
import { auditCost } from "./benchmarks/audit-cost.ts";
import { browser } from "./benchmarks/browser.ts";
import { burst } from "./benchmarks/burst.ts";
import { bytesOut } from "./benchmarks/bytes-out.ts";
import { cold } from "./benchmarks/cold.ts";
import { contexts } from "./benchmarks/contexts.ts";
import { daemonIdle } from "./benchmarks/daemon-idle.ts";
import { dockerRun } from "./benchmarks/docker.ts";
import { egress } from "./benchmarks/egress.ts";
import { egressRules } from "./benchmarks/egress-rules.ts";
import { exec } from "./benchmarks/exec.ts";
import { filesChanged } from "./benchmarks/files-changed.ts";
import { forkFiles } from "./benchmarks/fork-files.ts";
import { forkMemory } from "./benchmarks/fork-memory.ts";
import { gateway } from "./benchmarks/gateway.ts";
import { idle } from "./benchmarks/idle.ts";
import { imageShare } from "./benchmarks/image-share.ts";
import { imageStart } from "./benchmarks/image-start.ts";
import { launcher } from "./benchmarks/launcher.ts";
import { mcp } from "./benchmarks/mcp.ts";
import { mcpStdio } from "./benchmarks/mcp-stdio.ts";
import { memory1gb } from "./benchmarks/memory-1gb.ts";
import { peersOf } from "./benchmarks/peers.ts";
import { reconcile } from "./benchmarks/reconcile.ts";
import { redact } from "./benchmarks/redact.ts";
import { restAllocate } from "./benchmarks/rest-allocate.ts";
import { restExec } from "./benchmarks/rest-exec.ts";
import { restFiles } from "./benchmarks/rest-files.ts";
import { template } from "./benchmarks/template.ts";
import { terminal } from "./benchmarks/terminal.ts";
import { downloadFile, uploadFile } from "./benchmarks/transfer.ts";
import { warm } from "./benchmarks/warm.ts";
import { ratioOf, verdictOf } from "./line.ts";
import { describeMachine, othersLoad } from "./machine.ts";
import { compilePrograms, root } from "./native-programs.ts";
import { endAll } from "./running.ts";
import { type MeasuredLine, markdownTable, notesOf, textTable } from "./table.ts";
import { type Benchmark, type BenchOptions, closeHomes, openHome } from "./workbench.ts";

const benchmarks: Record<string, Benchmark> = {
  cold,
  exec,
  warm,
  contexts,
  "bytes-out": bytesOut,
  idle,
  "files-changed": filesChanged,
  "fork-files": forkFiles,
  "fork-memory": forkMemory,
  template,
  "image-start": imageStart,
  "image-share": imageShare,
  browser,
  launcher,
  terminal,
  upload: uploadFile,
  download: downloadFile,
  audit,
  redact,
  egress,
  "egress-rules": egressRules,
  "memory-1gb": memory1gb,
  "rest-allocate": restAllocate,
  "rest-exec": restExec,
  "rest-files": restFiles,
  mcp,
  "mcp-stdio": mcpStdio,
  gateway,
  burst,
  "audit-cost": auditCost,
  "daemon-idle": daemonIdle,
  reconcile,
  docker: dockerRun,
  peers: peersOf,
};

const help = `npm run bench -- [NAME…] [--quick] [--full] [--profile] [--save]

  NAME…      ${Object.keys(benchmarks).join(", ")}; all unless named
             reconcile: the daemon is killed with -9, and the next one finds 50 sandboxes again within 2 s
  --quick    fewer rounds
  --full     files of 5 GiB in memory-1gb
  --profile  where the time of cold goes
  --save     docs/results/bench-DATE.json and .md too
`;

async function measure(name: string, run: Benchmark, options: BenchOptions): Promise<MeasuredLine[]> {
  console.log(`${name} …`);
  await using opened = await openHome();
  const lines: MeasuredLine["line"][] = [];
  const before = await othersLoad();
  await run({
    options,
    home: opened.home,
    caisson: opened.caisson,
    add: (line) => lines.push({ benchmark: name, ...line }),
    say: (text) => console.log(text),
  });
  const load = Math.max(before, await othersLoad());
  return lines.map((line) => ({ line, othersLoad: load }));
}

async function report(machine: Record<string, string>, lines: readonly MeasuredLine[], save: boolean): Promise<void> {
  const date = new Date().toISOString();
  const rows = lines.map(({ line, othersLoad }) => ({
    ...line,
    ratio: ratioOf(line),
    verdict: verdictOf(line),
    othersLoad,
  }));
  const json = `${JSON.stringify({ date, machine, lines: rows }, null, 2)}\n`;
  await writeFile(join(root, ".build/bench.json"), json);
  if (!save) return;
  const folder = join(root, "docs/results");
  const path = join(folder, `bench-${date.slice(0, 10)}`);
  const facts = Object.entries(machine).map(([name, value]) => `- ${name}: ${value}`);
  const notes = notesOf(lines).map((note) => `- ${note}`);
  await mkdir(folder, { recursive: true });
  // Kept results name no folder of the machine they were taken on.
  const portable = (text: string) => text.replaceAll(`${root}/`, "");
  await writeFile(`${path}.json`, portable(json));
  const about =
    "p95 is the slow end, `of best` the ratio of the fastest rounds. `others` is the CPU that other programs used around the benchmark; past 10 % the line is disturbed.";
  const parts = [`# Numbers of ${date.slice(0, 10)}`, facts.join("\n"), markdownTable(lines), about, notes.join("\n")];
  await writeFile(`${path}.md`, portable(`${parts.join("\n\n")}\n`));
}

async function main(): Promise<number> {
  const flag = { type: "boolean", default: false } as const;
  const { values, positionals } = parseArgs({
    options: { quick: flag, full: flag, profile: flag, save: flag, help: flag },
    allowPositionals: true,
  });
  const names = positionals.length === 0 ? Object.keys(benchmarks) : positionals;
  const unknown = names.filter((name) => benchmarks[name] === undefined);
  if (values.help || unknown.length > 0) {
    console.log(unknown.length > 0 ? `there is no benchmark '${unknown.join(", ")}'\n\n${help}` : help);
    return unknown.length > 0 ? 64 : 0;
  }
  await compilePrograms();
  const machine = await describeMachine();
  for (const [name, value] of Object.entries(machine)) console.log(`${name.padEnd(9)} ${value}`);
  const lines: MeasuredLine[] = [];
  const failed: string[] = [];
  for (const name of names) {
    try {
      lines.push(...(await measure(name, benchmarks[name] as Benchmark, values)));
    } catch (error) {
      failed.push(name);
      console.error(`${name} failed:`, error);
    }
  }
  console.log(`\n${textTable(lines)}\n`);
  for (const note of notesOf(lines)) console.log(note);
  await report(machine, lines, values.save);
  if (failed.length > 0) console.error(`failed: ${failed.join(", ")}`);
  return failed.length;
}

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    endAll()
      .then(closeHomes)
      .finally(() => process.exit(130));
  });
process.exitCode = await main();

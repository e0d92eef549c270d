import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import { ordinary, root } from "../harness.ts";
import { notes } from "./notes.ts";
import type { Probe } from "./probe.ts";

type Environment = EngineName | "host";

/** What became of each probe and each twin, as a table. */
export class Report {
  readonly #verdicts = new Map<string, string>();

  probed(probe: Probe, engine: EngineName, verdict: string): void {
    this.#verdicts.set(keyOf("probe", probe, engine), verdict);
  }

  twinned(probe: Probe, place: Environment, verdict: string): void {
    this.#verdicts.set(keyOf("twin", probe, place), verdict);
  }

  /** Writes .build/escape-report.md and returns the line that sums it up. */
  async write(probes: readonly Probe[], engines: readonly EngineName[]): Promise<string> {
    const rows = probes.flatMap((probe) => engines.map((engine) => this.#row(probe, engine)));
    const table = [
      "| probe | section | engine | verdict | twin |",
      "|---|---|---|---|---|",
      ...rows.map((row) => row.text),
    ];
    const left = notes.map((note) => `| ${note.what} | ${note.section} | - | not tried: ${note.why} | - |`);
    const tried = rows.filter((row) => row.tried);
    const apart = rows.filter((row) => row.notApplicable).length;
    const held = tried.filter((row) => row.held).length;
    const twins = [...this.#verdicts].filter(([key]) => key.startsWith("twin"));
    const working = twins.filter(([, verdict]) => verdict.startsWith("works")).length;
    const summary = `escape suite: ${held} of ${tried.length} probes held, ${working} of ${twins.length} twins work, ${apart} not applicable, ${notes.length} notes`;
    const file = join(root, ".build", ordinary ? "escape-report-rootless.md" : "escape-report.md");
    await mkdir(join(root, ".build"), { recursive: true });
    await writeFile(file, `${["# Escape suite", "", summary, "", ...table, ...left].join("\n")}\n`);
    return summary;
  }

  #row(probe: Probe, engine: EngineName): { text: string; tried: boolean; held: boolean; notApplicable: boolean } {
    const verdict = this.#verdicts.get(keyOf("probe", probe, engine));
    const twin = this.#verdicts.get(keyOf("twin", probe, probe.twin.inSandbox ? engine : "host"));
    const cells = [probe.claim, probe.section, engine, verdict ?? "not run", twin ?? "not run"].map(escapeCell);
    const notApplicable = verdict?.startsWith("not applicable") ?? false;
    const tried = verdict !== undefined && !notApplicable;
    return { text: `| ${cells.join(" | ")} |`, tried, held: verdict === "held", notApplicable };
  }
}

function keyOf(kind: "probe" | "twin", probe: Probe, place: Environment): string {
  return [kind, probe.section, probe.claim, place].join("\n");
}

/** What a sandbox said stands in the table too: it must not break a row. */
function escapeCell(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, " ")
    .replaceAll("|", "\\|")
    .slice(0, 300);
}

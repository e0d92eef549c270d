import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness.ts";

export interface Step {
  tool: string;
  input: string;
}

/** A section of docs/tools.md: what is called, what comes back, and the command that does the same. */
export interface DocExample {
  tool: string;
  steps: Step[];
  result: unknown;
  command: string | undefined;
}

const page = readFileSync(join(root, "docs/tools.md"), "utf8");

/** The tools of a set, in the page's table. */
export function readSet(name: string): string[] {
  const row = new RegExp(`^\\| \`${name}\` \\|.*?\\|(.*)\\|$`, "m").exec(page)?.[1] ?? "";
  return [...row.matchAll(/`(\w+)`/g)].map(([, tool = ""]) => tool);
}

export function readExamples(): DocExample[] {
  const sections = page.split(/^### /m).slice(1);
  return sections.map((section) => {
    const tool = section.slice(0, section.indexOf("\n"));
    const block = (kind: string) => new RegExp(`^\`\`\`${kind}\n([^]*?)^\`\`\`$`, "m").exec(section)?.[1];
    const steps = (block("call") ?? "")
      .trim()
      .split("\n")
      .map((line) => {
        const at = line.indexOf(" ");
        return { tool: line.slice(0, at), input: line.slice(at + 1) };
      });
    return { tool, steps, result: JSON.parse(block("json") ?? "null"), command: block("sh")?.trim() };
  });
}

/** Fields that differ from one time to the next, or from one machine to another. */
const passing =
  /(^|_)(id|at|ms|sec|rss|bytes|seconds|pid|warm|timestamp|signature|hash|actor|created_by|version|origin|memory|signed_at|namespace|wait|added_size|processes|calls)$/;
const lasting = ["max_processes", "size_bytes", "memory_limit_bytes", "timeout_seconds", "session_id"];

/** What must be the same whichever way a tool is called. */
export function lastingPart(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lastingPart);
  if (typeof value !== "object" || value === null) return value;
  const rows = Object.entries(value).map(([name, field]) => {
    const isPassing = passing.test(name) && !lasting.includes(name) && (typeof field !== "object" || field === null);
    return [name, isPassing ? "…" : lastingPart(field)];
  });
  return Object.fromEntries(rows);
}

/** `"…"` stands for anything. */
export function withoutAny(expected: unknown, found: unknown): unknown {
  if (expected === "…") return found;
  if (Array.isArray(expected))
    return expected.map((one, at) => withoutAny(one, Array.isArray(found) ? found[at] : undefined));
  if (typeof expected !== "object" || expected === null) return expected;
  const fields = (found ?? {}) as Record<string, unknown>;
  return Object.fromEntries(Object.entries(expected).map(([name, one]) => [name, withoutAny(one, fields[name])]));
}

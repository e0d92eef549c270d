import { AppError, messageOf } from "../core/errors.ts";
import type { LayerId } from "../core/layer.ts";
import type { Builder } from "../core/layer-builder.ts";
import type { RunOptions } from "../core/run.ts";
import { hidePaths } from "../lib/hide-paths.ts";
import type { BuildLog } from "./build-log.ts";
import type { Script } from "./debian-steps.ts";
import { buildLimits } from "./limits.ts";

/** A build under way, as its steps see it. */
export interface Progress {
  log: Pick<BuildLog, "write">;
  signal: AbortSignal;
  /** Of the names given before. */
  begin(step: string): Promise<void>;
  /** A layer that is there for a while: known before anything can end this process, so that the next one removes it. */
  holds(layerId: LayerId | null): Promise<void>;
}

/** In the words of a sandbox, whose paths are nobody else's. */
export class StepFailure extends AppError {}

/** The end of what a step said, without what only terminals understand. */
class Tail {
  #text = "";

  add(chunk: Buffer): void {
    this.#text = (this.#text + chunk.toString("utf8")).slice(-buildLimits.errorCharacters);
  }

  get text(): string {
    return this.#text
      .replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "")
      .replace(/[^\n\t\x20-\u{10ffff}]/gu, "")
      .trim();
  }
}

export async function runScript(
  builder: Builder,
  { name, text, words = [] }: Script,
  { log, signal, begin }: Progress,
  how: Pick<RunOptions, "env" | "stdin"> = {},
): Promise<void> {
  await begin(name);
  const tail = new Tail();
  const result = await builder.exec({
    command: ["/bin/bash", "-euo", "pipefail", "-c", `exec 2>&1\n${text}`, name, ...words],
    cwd: "/workspace",
    env: { DEBIAN_FRONTEND: "noninteractive", TREE: "/workspace", ...how.env },
    ...(how.stdin === undefined ? {} : { stdin: how.stdin }),
    limits: { timeoutMs: buildLimits.stepMs, cpuTimeMs: buildLimits.stepMs },
    onOutput: (_channel, chunk) => {
      tail.add(chunk);
      return log.write(Buffer.from(chunk));
    },
    trackFiles: false,
    signal,
  });
  signal.throwIfAborted();
  if (result.exit_code === 0) return;
  const why = result.timed_out
    ? "it took too long"
    : result.oom_killed
      ? "it ran out of memory"
      : `exit code ${result.exit_code}`;
  throw new StepFailure("invalid", `${why}${tail.text === "" ? "" : `: ${tail.text}`}`);
}

/** With the step that failed in front, and no more of it than a record holds. */
export function explainFailure(step: string | null, error: unknown): string {
  const why = error instanceof StepFailure ? error.message : hidePaths(messageOf(error));
  return `${step ?? "before its first step"}: ${why}`.slice(0, buildLimits.errorCharacters);
}

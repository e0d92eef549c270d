import { type Script, type ScriptOptions, StepFailure, type StepProgress } from "../core/build-script.ts";
import { AppError } from "../core/errors.ts";
import type { RunRequest, RunResult } from "../core/run.ts";
import { buildLimits } from "../images/limits.ts";
import { defined } from "../lib/defined.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";

const shell = "/bin/bash";

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

/** Runs one step of a build in its sandbox; rejects with the end of its output. */
export async function runScript(
  sandbox: Pick<Sandbox, "exec">,
  { name, text, words = [] }: Script,
  { log, signal, begin }: StepProgress,
  { env, stdin, timeoutMs = buildLimits.stepMs }: ScriptOptions = {},
): Promise<void> {
  await begin(name);
  const tail = new Tail();
  const request: RunRequest = {
    command: [shell, "-euo", "pipefail", "-c", `exec 2>&1\n${text}`, name, ...words],
    cwd: "/workspace",
    env: { DEBIAN_FRONTEND: "noninteractive", TREE: "/workspace", ...env },
    ...defined({ stdin }),
    limits: { timeoutMs, cpuTimeMs: timeoutMs },
    onOutput: (_channel, chunk) => {
      tail.add(chunk);
      return log.write(Buffer.from(chunk));
    },
    trackFiles: false,
    signal,
  };
  const result = await sandbox.exec(request).catch(explainStart);
  signal.throwIfAborted();
  for (const { host, port } of result.refused) {
    const line = Buffer.from(`\nrefused: ${host}:${port}`);
    tail.add(line);
    await log.write(Buffer.concat([line, Buffer.from("\n")]));
  }
  if (result.exit_code === 0) return;
  throw new StepFailure("invalid", `${whyEnded(result)}${tail.text === "" ? "" : `: ${tail.text}`}`);
}

function explainStart(error: unknown): never {
  if (!(error instanceof AppError && error.code === "not_found")) throw error;
  throw new StepFailure("invalid", `the image has no ${shell}`, { cause: error });
}

function whyEnded({ timed_out, oom_killed, exit_code }: RunResult): string {
  if (timed_out) return "it took too long";
  return oom_killed ? "it ran out of memory" : `exit code ${exit_code}`;
}

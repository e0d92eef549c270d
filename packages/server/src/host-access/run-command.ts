/** A program of the host from its start to its end: a fixed environment, bounded output and time, and nothing of its group left (HST-02). */
import { userInfo } from "node:os";
import type { Readable } from "node:stream";
import { AppError } from "../core/errors.ts";
import type { HostResult } from "../core/host-access.ts";
import { hostLimits } from "./limits.ts";
import { programFolders } from "./program.ts";

interface StartedCommand {
  readonly pid?: number | undefined;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  on(event: "exit" | "close", listener: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** Starts a program as the leader of a group of its own, without input, in `/`. */
export type StartCommand = (
  program: string,
  words: { argv0: string; args: readonly string[] },
  variables: Readonly<Record<string, string>>,
) => StartedCommand;

interface CommandToRun {
  program: string;
  argv: readonly string[];
  timeoutMs: number;
  signal?: AbortSignal;
}

export function runCommand(
  start: StartCommand,
  { program, argv, timeoutMs, signal }: CommandToRun,
): Promise<HostResult> {
  const [argv0 = program, ...args] = argv;
  const sinceMs = performance.now();
  const child = start(program, { argv0, args }, variables());
  const stdout = new Capture(child.stdout);
  const stderr = new Capture(child.stderr);
  let timedOut = false;
  const killGroup = () => {
    // Undefined and 0 would be this process's own group.
    if (child.pid !== undefined && child.pid > 1) kill(-child.pid);
  };
  const timer = setTimeout(() => {
    timedOut = true;
    killGroup();
  }, timeoutMs);
  signal?.addEventListener("abort", killGroup, { once: true });
  if (signal?.aborted === true) killGroup();
  return new Promise((resolve, reject) => {
    const over = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", killGroup);
    };
    child.on("error", (cause) => {
      over();
      reject(new AppError("unavailable", `cannot start the program: ${cause.message}`, { cause }));
    });
    let drain: NodeJS.Timeout | undefined;
    child.on("exit", () => {
      over();
      killGroup(); // what it left behind
      drain = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, hostLimits.drainMs);
    });
    child.on("close", (code, how) => {
      clearTimeout(drain);
      resolve({
        exit_code: code,
        signal: how,
        stdout: stdout.text(),
        stderr: stderr.text(),
        stdout_truncated: stdout.isCut,
        stderr_truncated: stderr.isCut,
        timed_out: timedOut,
        duration_ms: Math.round(performance.now() - sinceMs),
      });
    });
  });
}

/** Nothing of a caller's, and nothing of this process's own. */
function variables(): Record<string, string> {
  const { username, homedir } = self();
  return {
    PATH: programFolders.join(":"),
    HOME: homedir,
    USER: username,
    LOGNAME: username,
    LANG: "C.UTF-8",
    TERM: "dumb",
  };
}

function self(): { username: string; homedir: string } {
  try {
    return userInfo();
  } catch {
    return { username: String(process.geteuid?.() ?? ""), homedir: "/" }; // a user without a name
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it has ended
  }
}

class Capture {
  readonly #chunks: Buffer[] = [];
  #left: number = hostLimits.outputBytes;
  isCut = false;

  constructor(stream: Readable | null) {
    stream?.on("error", () => undefined);
    stream?.on("data", (chunk: Buffer) => {
      if (chunk.length > this.#left) this.isCut = true;
      if (this.#left > 0) this.#chunks.push(chunk.subarray(0, this.#left));
      this.#left = Math.max(0, this.#left - chunk.length);
    });
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex } from "node:stream";
import { AppError } from "../core/errors.ts";

/** The one door to other programs: absolute paths and argument lists, never a shell, never this process's variables. */
const environment = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };

export type StartedProcess = ChildProcess;

/** "ignore" opens /dev/null, a number is a descriptor of this process. */
export type InheritedDescriptor = "pipe" | "ignore" | number | Duplex;

export interface RunResult {
  code: number | null;
  output: string;
}

/** Starts a program that is talked to over its stdin and stdout. */
export function startProcess(program: string, args: readonly string[]): StartedProcess {
  return spawn(program, args, { stdio: ["pipe", "pipe", "ignore"], env: environment, cwd: "/" });
}

/** Starts a program that is a service: with pipes, and in a session of its own, so that a terminal's Ctrl-C is not for it. */
export function startSupervised(
  program: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
  /** Its descriptors from 3 on. "pipe": one end of a new socket. */
  descriptors: readonly InheritedDescriptor[] = [],
): StartedProcess {
  return spawn(program, args, {
    stdio: ["pipe", "pipe", "pipe", ...descriptors],
    // Without it the C library keeps what each thread has freed to itself, some 10 MB in all.
    env: { ...environment, MALLOC_ARENA_MAX: "2", ...variables },
    cwd: "/",
    detached: true,
  });
}

/** Starts a command of the host for a caller: without input, as the leader of a group of its own, with these variables alone. */
export function startCommand(
  program: string,
  { argv0, args }: { argv0: string; args: readonly string[] },
  variables: Readonly<Record<string, string>>,
): StartedProcess {
  return spawn(program, args, { argv0, stdio: ["ignore", "pipe", "pipe"], env: variables, cwd: "/", detached: true });
}

/** Runs a program to its end; its output, cut at `outputBytes`, is stdout and stderr together. */
export function runProcess(
  program: string,
  args: readonly string[],
  limits: { timeoutMs: number; outputBytes: number },
): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env: environment, cwd: "/" });
    const chunks: Buffer[] = [];
    let left = limits.outputBytes;
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill("SIGKILL");
    }, limits.timeoutMs);
    const collect = (chunk: Buffer) => {
      if (left > 0) chunks.push(chunk.subarray(0, left));
      left -= chunk.length;
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("error", (cause) => {
      clearTimeout(timer);
      reject(new AppError("unavailable", `cannot start ${program}: ${cause.message}`, { cause }));
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      if (timedOut) reject(new AppError("timeout", `${program} did not end within ${limits.timeoutMs} ms`));
      else resolve({ code, output: Buffer.concat(chunks).toString() });
    });
  });
}

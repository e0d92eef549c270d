import { spawn } from "node:child_process";

const environment = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };

export const npmPath = "/usr/bin/npm";

/** How this machine reaches its package registries is told by its environment. */
export const surroundings = { env: process.env as Record<string, string> };

export interface RunOptions {
  /** A file descriptor to be the program's standard output, instead of a pipe that is read here. */
  stdout?: number;
  env?: Readonly<Record<string, string>>;
  cwd?: string;
}

export interface Outcome {
  stdout: string;
  /** From the call to the first byte read, and to the end of the program and its output. */
  firstByteMs: number | undefined;
  totalMs: number;
}

/** Runs a program of the host by absolute path; a failure is an error that holds what it said. */
export function runProgram(path: string, args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(path, args, {
      stdio: ["ignore", options.stdout ?? "pipe", "pipe"],
      env: { ...environment, ...options.env },
      cwd: options.cwd ?? "/",
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    let firstByteMs: number | undefined;
    child.stdout?.on("data", (chunk: Buffer) => {
      firstByteMs ??= performance.now() - start;
      stdout.push(chunk);
    });
    child.stderr?.on("data", (chunk: Buffer) => stderr.push(chunk));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      const totalMs = performance.now() - start;
      if (code === 0) resolve({ stdout: Buffer.concat(stdout).toString(), firstByteMs, totalMs });
      else reject(new Error(`${path} ${args.join(" ")}: ${signal ?? `exit code ${code}`}: ${Buffer.concat(stderr)}`));
    });
  });
}

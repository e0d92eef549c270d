/** What benchmarks of connections share. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Sandbox } from "../packages/server/src/sandboxes/sandbox.ts";
import { programPath } from "./native-programs.ts";

export interface Server extends AsyncDisposable {
  port: number;
}

/** `tcp`, as a server of the world. */
export async function serve(...words: string[]): Promise<Server> {
  const child: ChildProcess = spawn(programPath("tcp"), words, {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout as NonNullable<typeof child.stdout>, "data")) as [Buffer];
  return {
    port: Number(line.toString()),
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill();
      await ended;
    },
  };
}

export function rateOf(told: string, expected: number): number {
  const [bytes = 0, seconds = 1] = told.trim().split(" ").map(Number);
  if (bytes !== expected) throw new Error(`${bytes} bytes came, not ${expected}`);
  return bytes / 1e6 / seconds;
}

export const median = (told: string) => {
  const sorted = told
    .trim()
    .split("\n")
    .map(Number)
    .sort((left, right) => left - right);
  return (sorted[sorted.length >> 1] ?? 0) / 1000;
};

export async function inSandbox(sandbox: Sandbox, command: string[]): Promise<string> {
  const limits = { timeoutMs: 600_000, cpuTimeMs: 3_600_000 };
  const { stdout, stderr, exit_code } = await sandbox.exec({ command, trackFiles: false, limits });
  if (exit_code !== 0) throw new Error(`${command.join(" ")}: ${stderr}`);
  return stdout;
}

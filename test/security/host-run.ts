import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** What a program left behind, wherever it ran. */
export interface Seen {
  stdout: string;
  stderr: string;
  exitCode: number;
  signal: string | null;
}

export interface HostRunOptions {
  cwd?: string;
  timeoutMs?: number;
}

/** Runs a program on the host, as this process's user. */
export async function runOnHost(command: readonly string[], options: HostRunOptions = {}): Promise<Seen> {
  const child = spawn(command[0] ?? "", command.slice(1), {
    cwd: options.cwd ?? "/",
    stdio: ["ignore", "pipe", "pipe"],
    timeout: options.timeoutMs ?? 30_000,
    killSignal: "SIGKILL",
  });
  const output = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output.stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    output.stderr += text;
  });
  const [code, signal] = await once(child, "close");
  return { ...output, exitCode: code ?? 128, signal };
}

/** What a process of the suite may be seen to carry: nothing of the machine's. */
const bareEnvironment = { CAISSON_PROBE: "1" };

/** A program that holds something until it is let go. */
export class Holder implements AsyncDisposable {
  readonly words: string[];
  /** All it said up to then. */
  readonly text: string;
  readonly pid: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, text: string) {
    this.#child = child;
    this.text = text;
    this.pid = child.pid ?? 0;
    this.words = readyLine(text).split(" ").slice(1);
  }

  /** Resolves when the program has said `ready`, with the words behind it. */
  static async start(command: readonly string[], cwd = "/"): Promise<Holder> {
    const child = spawn(command[0] ?? "", command.slice(1), {
      cwd,
      stdio: ["pipe", "pipe", "inherit"],
      env: bareEnvironment,
    });
    const text = await textUntilReady(child);
    if (readyLine(text) === "") throw new Error(`${command.join(" ")}: ${text}`);
    return new Holder(child, text);
  }

  /** Whether it is still there, though nobody let it go. */
  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves when it has ended, whoever ended it. */
  get ended(): Promise<unknown> {
    return this.alive ? once(this.#child, "exit") : Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.alive) return;
    const ended = once(this.#child, "exit");
    this.#child.stdin?.end();
    const patience = setTimeout(() => this.#child.kill("SIGKILL"), 2_000);
    await ended;
    clearTimeout(patience);
  }
}

function readyLine(text: string): string {
  return text.split("\n").find((line) => line.startsWith("ready")) ?? "";
}

async function textUntilReady(child: ChildProcess): Promise<string> {
  let text = "";
  const stdout = child.stdout?.setEncoding("utf8");
  if (!stdout) return text;
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (/^ready.*\n/m.test(text)) break;
  }
  stdout.resume();
  return text;
}

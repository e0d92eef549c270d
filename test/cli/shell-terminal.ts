import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "../harness.ts";

const open = new Set<ChildProcess>();

/** Ends the program of a test that failed. */
export function closeTerminals(): void {
  for (const child of open) child.stdin?.end();
  open.clear();
}

export interface Ending {
  code: number;
  /** True if the terminal was raw at some time. */
  raw: boolean;
  /** True if the terminal is as it was. */
  restored: boolean;
}

/** `caisson shell` on a terminal of the host, with somebody at it. */
export class ShellTerminal {
  readonly #child: ChildProcess;
  readonly ended: Promise<Ending>;
  #text = "";
  #at = 0;
  #over = false;

  constructor(folder: string, variables: Record<string, string>, args: readonly string[]) {
    const { NO_COLOR: _, ...others } = process.env;
    const env = { ...others, TERM: "xterm-256color", ...variables };
    const driver = [join(import.meta.dirname, "terminal.py"), join(root, "caisson"), "shell", ...args];
    const child = spawn("python3", driver, { env, cwd: folder, stdio: "pipe" });
    open.add(child);
    this.#child = child;
    child.stdin.on("error", () => {});
    child.stdout.on("data", (chunk: Buffer) => {
      this.#text += chunk.toString("latin1");
    });
    let report = "";
    child.stderr.on("data", (chunk: Buffer) => {
      report += chunk;
    });
    this.ended = new Promise((resolve, reject) => {
      child.on("close", () => {
        this.#over = true;
        open.delete(child);
        try {
          resolve(JSON.parse(report));
        } catch {
          reject(new Error(report));
        }
      });
    });
    this.ended.catch(() => undefined);
  }

  get text(): string {
    return this.#text;
  }

  #order(order: object): void {
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  type(text: string): void {
    this.#order({ type: text });
  }

  resize(rows: number, columns: number): void {
    this.#order({ size: [rows, columns] });
  }

  /** The terminal is no more. */
  hangUp(): void {
    this.#order({ hangup: true });
  }

  signal(number: number): void {
    this.#order({ signal: number });
  }

  /** Waits for a text past the last one found. */
  async sees(expected: string): Promise<void> {
    const until = performance.now() + 50_000; // before the test's own limit, which tells nothing
    for (;;) {
      const last = this.#over || performance.now() > until;
      const found = this.#text.indexOf(expected, this.#at);
      if (found >= 0) {
        this.#at = found + expected.length;
        return;
      }
      if (last) throw new Error(`there came no ${JSON.stringify(expected)}: ${JSON.stringify(this.#text)}`);
      await sleep(5);
    }
  }
}

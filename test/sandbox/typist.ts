import { setTimeout as sleep } from "node:timers/promises";
import type { Run, RunRequest } from "../../packages/server/src/core/run.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";

/** Somebody at the terminal of a run: types, and waits for what appears. */
export class Typist {
  readonly run: Run;
  #seen: { text: string };
  #at = 0;

  private constructor(run: Run, seen: { text: string }) {
    this.run = run;
    this.#seen = seen;
  }

  static async start(sandbox: Sandbox, command: RunRequest["command"], more: Partial<RunRequest> = {}) {
    const seen = { text: "" };
    const onOutput = (_channel: string, chunk: Buffer) => {
      seen.text += chunk.toString("latin1");
      return undefined;
    };
    const terminal = { rows: 24, columns: 80 };
    const run = await sandbox.start({ command, terminal, onOutput, trackFiles: false, ...more });
    return new Typist(run, seen);
  }

  static shell(sandbox: Sandbox) {
    return Typist.start(sandbox, ["/bin/bash", "--norc"], { env: { PS1: "ready> " } });
  }

  /** Everything that has come so far. */
  get text(): string {
    return this.#seen.text;
  }

  async type(text: string): Promise<void> {
    await this.run.write(Buffer.from(text, "latin1"));
  }

  /** Waits for a text past the last one found. */
  async sees(expected: string): Promise<void> {
    let ended: unknown;
    this.run.result.then(
      (result) => (ended = result),
      (error) => (ended = error),
    );
    const until = performance.now() + 50_000; // before the test's own limit, which tells nothing
    for (;;) {
      const last = ended !== undefined || performance.now() > until;
      const found = this.#seen.text.indexOf(expected, this.#at);
      if (found >= 0) {
        this.#at = found + expected.length;
        return;
      }
      if (last) throw new Error(`there came no ${JSON.stringify(expected)}: ${JSON.stringify(this.#seen.text)}`);
      await sleep(2);
    }
  }
}

/** Waits until the program has made the file, and takes it away. */
export async function madeFile(sandbox: Sandbox, name: string): Promise<void> {
  for (;;) {
    const found = await sandbox.files.stat(name).then(
      () => true,
      () => false,
    );
    if (found) return sandbox.files.remove(name);
    await sleep(5);
  }
}

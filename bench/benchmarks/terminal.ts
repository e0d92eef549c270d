import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { interleave, summarize } from "../stats.ts";
import { engines, MiB, type Workbench } from "../workbench.ts";

const targets: Partial<Record<EngineName, number>> = { container: 2 };
const keys = 50;

interface Typing extends AsyncDisposable {
  /** From a key to what it puts on the screen, once for each key. */
  block(): Promise<number[]>;
}

async function startTyping(sandbox: Sandbox, command: string): Promise<Typing> {
  let gate = Promise.withResolvers<void>();
  let expected = "!";
  const run = await sandbox.start({
    command,
    terminal: { rows: 24, columns: 80 },
    limits: { timeoutMs: 0 },
    trackFiles: false,
    onOutput: (_channel, chunk) => {
      if (chunk.includes(expected)) gate.resolve();
      return undefined;
    },
  });
  await gate.promise; // the modes are set
  // Each key is another one than the last: what comes is the answer to it.
  const press = async (name: string) => {
    gate = Promise.withResolvers<void>();
    expected = name;
    const key = Buffer.from(name);
    const before = performance.now();
    await run.write(key);
    await gate.promise;
    return performance.now() - before;
  };
  return {
    block: async () => {
      const samples: number[] = [];
      for (let i = 0; i < keys; i++) samples.push(await press(i % 2 === 0 ? "a" : "b"));
      return samples;
    },
    [Symbol.asyncDispose]: async () => {
      run.kill();
      await run.result;
    },
  };
}

export async function terminal(bench: Workbench): Promise<void> {
  for (const engine of engines) {
    await using sandbox = await bench.caisson.createSandbox({ engine, limits: { storageBytes: 64 * MiB } });
    await using echoing = await startTyping(sandbox, "stty -icanon; printf '!'; exec cat >/dev/null");
    await using answering = await startTyping(sandbox, "stty raw -echo; printf '!'; exec cat");
    const steps = [() => echoing.block(), () => answering.block()];
    await interleave(1, steps);
    const [echoed, answered] = await interleave(bench.options.quick ? 4 : 20, steps);
    const atMost = targets[engine];
    const target = atMost === undefined ? {} : { target: { of: "value", atMost } as const };
    const line = { engine, unit: "ms", ...target } as const;
    bench.add({ ...line, what: "key to the terminal's echo", ours: summarize(echoed ?? []) });
    bench.add({ ...line, what: "key to a program's answer", ours: summarize(answered ?? []) });
  }
}

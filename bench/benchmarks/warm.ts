import { setTimeout as sleep } from "node:timers/promises";
import type { EngineName } from "../../packages/server/src/core/engine.ts";
import type { Sandbox } from "../../packages/server/src/sandboxes/sandbox.ts";
import { pssByProcess } from "../memory.ts";
import { programPath } from "../native-programs.ts";
import { runProgram } from "../program.ts";
import { interleave, summarize, timeMs } from "../stats.ts";
import { allCpus, engines, install, MiB, type Workbench } from "../workbench.ts";

/** What the code of a call costs besides: an agent thinks between two of them, and the next interpreter gets ready. */
const pauseMs = 150;
const targets: Record<EngineName, number> = { container: 0.7, gvisor: 0.6 };
const languages = {
  python: { code: "print(1)", plain: ["/usr/bin/python3", "-c", "print(1)"] },
  node: { code: "console.log(1)", plain: ["node", "-e", "console.log(1)"] },
} as const;
type Language = keyof typeof languages;

/** The same interpreter started plainly: on the host, or inside the same gVisor sandbox. */
async function plain(engine: EngineName, sandbox: Sandbox, language: Language): Promise<number> {
  const [program, ...rest] = languages[language].plain;
  const path = program.startsWith("/") ? program : await pathOf(sandbox, program);
  const words = ["1", path, ...rest];
  const { stdout } =
    engine === "container"
      ? await runProgram(programPath("spawner"), words)
      : await sandbox.exec({ command: ["/workspace/spawner", ...words], trackFiles: false });
  return Number(stdout) / 1000;
}

/** The program that a sandbox finds; the host's own folders are its folders. */
async function pathOf(sandbox: Sandbox, program: string): Promise<string> {
  const { stdout } = await sandbox.exec({ command: `command -v ${program}`, trackFiles: false });
  return stdout.trim() === "/opt/caisson/bin/node" ? process.execPath : stdout.trim();
}

async function warmMs(sandbox: Sandbox, language: Language): Promise<number> {
  await sleep(pauseMs);
  let warm = false;
  const ms = await timeMs(async () => {
    const { code } = languages[language];
    warm = (await sandbox.executeCode({ language, code, trackFiles: false })).warm;
  });
  return warm ? ms : warmMs(sandbox, language);
}

async function interpreterPss(sandbox: Sandbox, before: ReadonlyMap<number, number>): Promise<number> {
  await warmMs(sandbox, "python");
  await sleep(pauseMs);
  const after = await pssByProcess();
  return [...after].reduce((sum, [pid, bytes]) => sum + (before.has(pid) ? 0 : bytes), 0);
}

export async function warm(bench: Workbench): Promise<void> {
  for (const engine of engines) {
    const limits = { storageBytes: 256 * MiB, ...allCpus };
    await using sandbox = await bench.caisson.createSandbox({ engine, limits });
    await install(sandbox, "spawner");
    if (engine === "container") {
      const bytes = await interpreterPss(sandbox, await pssByProcess());
      const what = "a Python that waits, and its next run";
      bench.add({ engine, what, unit: "MB", ours: summarize([bytes / 1e6]), target: { of: "value", atMost: 8 } });
    }
    for (const language of ["python", "node"] as const) {
      const steps = [
        async () => [await warmMs(sandbox, language)],
        async () => [await plain(engine, sandbox, language)],
      ];
      await interleave(2, steps);
      const [ours = [], bare = []] = await interleave(bench.options.quick ? 10 : 40, steps);
      const where = engine === "container" ? "on the host" : "inside the same sandbox";
      bench.add({
        engine,
        what: `execute_code, ${language}`,
        unit: "ms",
        ours: summarize(ours),
        bare: summarize(bare),
        bareWhat: `posix_spawn and waitpid of the same interpreter with the same code ${where}`,
        target: { of: "ratio", atMost: targets[engine] },
        notes: [`${pauseMs} ms between two calls`],
      });
    }
  }
}

import { basename } from "node:path";
import type { Caisson } from "../app.ts";
import { AppError } from "../core/errors.ts";
import { interpreters } from "../core/language.ts";
import type { Run, RunOptions, RunResult } from "../core/run.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { boxOptions, bringOutput } from "./box.ts";
import { checkInput } from "./check-input.ts";
import { watchDisk } from "./disk.ts";
import { exitCodes } from "./exit-codes.ts";
import { explain } from "./explain.ts";
import { onInterrupt } from "./interrupt.ts";
import type { RunPlan } from "./run-options.ts";
import { readCode, readScript } from "./script.ts";
import type { Terminal } from "./terminal.ts";
import { writeOut } from "./write-out.ts";

export interface RunIo {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  terminal: Terminal;
}

/** Passes output on as it arrives. A slow reader slows the run and costs no memory. */
export function passOn(io: RunIo): NonNullable<RunOptions["onOutput"]> {
  return async (channel, chunk) => void (await writeOut(io[channel], chunk));
}

async function startScript(sandbox: Sandbox, plan: RunPlan, script: Buffer, options: RunOptions): Promise<Run> {
  const name = basename(plan.file);
  await sandbox.files.write(name, script, 0o755);
  const { program } = interpreters[plan.language];
  return sandbox.start({ ...options, command: [program, name, ...plan.args] });
}

async function startStandardInput(sandbox: Sandbox, plan: RunPlan, code: string, options: RunOptions): Promise<Run> {
  if (plan.args.length > 0)
    throw new AppError("invalid", `unexpected argument '${plan.args[0]}': code from standard input takes no arguments`);
  return sandbox.start({ ...options, language: plan.language, code });
}

type Ending = Pick<RunResult, "exit_code" | "timed_out" | "oom_killed" | "cpu_limit">;

export function exitCodeOfResult(result: Ending): number {
  if (result.timed_out) return exitCodes.timeout;
  if (result.oom_killed || result.cpu_limit) return exitCodes.killed;
  return result.exit_code;
}

function printJson(io: RunIo, result: RunResult): Promise<void> {
  return new Promise((resolve, reject) =>
    io.stdout.write(`${JSON.stringify(result, null, 2)}\n`, (error) => (error ? reject(error) : resolve())),
  );
}

/** `caisson run`: read the script, create a sandbox, run the script there, report, clean up. */
export async function run(caisson: Caisson, plan: RunPlan, io: RunIo): Promise<number> {
  const fromInput = plan.file === "-";
  await checkInput(plan, io);
  const script = fromInput ? await readCode(io.stdin) : await readScript(plan.file);
  const interrupt = onInterrupt();
  const readerGone = () => interrupt.end(exitCodes.pipe);
  for (const stream of [io.stdout, io.stderr]) stream.on("error", readerGone);
  try {
    await using sandbox = await caisson.createSandbox(boxOptions(plan));
    watchDisk(sandbox, io, interrupt.signal);
    const options: RunOptions = {
      env: plan.env,
      limits: plan.limits,
      trackFiles: plan.json,
      signal: interrupt.signal,
      ...(plan.json ? {} : { onOutput: passOn(io) }),
      ...(fromInput ? {} : { stdin: io.stdin }),
    };
    const running =
      typeof script === "string"
        ? await startStandardInput(sandbox, plan, script, options)
        : await startScript(sandbox, plan, script, options);
    interrupt.pass((number) => running.signal(number));
    const result = await running.result;
    if (interrupt.exitCode !== undefined) return interrupt.exitCode;
    await bringOutput(sandbox, plan, io);
    if (plan.json) await printJson(io, result);
    else explain(io, result);
    return exitCodeOfResult(result);
  } catch (error) {
    if (interrupt.exitCode !== undefined) return interrupt.exitCode;
    throw error;
  } finally {
    interrupt.dispose();
    for (const stream of [io.stdout, io.stderr]) stream.off("error", readerGone);
  }
}

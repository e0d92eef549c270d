import { constants } from "node:os";
import type { Caisson } from "../app.ts";
import type { RunResult } from "../core/run.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { atTerminal } from "./at-terminal.ts";
import { boxOptions, bringOutput } from "./box.ts";
import { checkInput } from "./check-input.ts";
import { watchDisk } from "./disk.ts";
import { explain } from "./explain.ts";
import type { Interrupt } from "./interrupt.ts";
import { makeRaw, terminalSizeOf } from "./raw-terminal.ts";
import { exitCodeOfResult, passOn, type RunIo } from "./run.ts";
import type { ShellPlan } from "./shell-options.ts";

/** Bash where there is one, without the start-up files of this machine. */
function shellCommand(color: boolean): string[] {
  const prompt = color ? String.raw`\[\e[36m\]caisson\[\e[0m\]:\w\$ ` : String.raw`caisson:\w\$ `;
  const script = `command -v bash >/dev/null && PS1='${prompt}' exec bash --norc
PS1='caisson$ ' exec sh -i`;
  return ["/bin/sh", "-c", script];
}

/** Joins the user's terminal and the sandbox's until the program there has ended. */
async function converse(sandbox: Sandbox, plan: ShellPlan, io: RunIo, interrupt: Interrupt): Promise<RunResult> {
  await using _raw = await makeRaw(io.stdin, io.stdout);
  const running = await sandbox.start({
    command: plan.command.length > 0 ? plan.command : shellCommand(io.terminal.color),
    env: { TERM: plan.terminalName, ...plan.env },
    limits: plan.limits,
    terminal: terminalSizeOf(io.stdout),
    stdin: io.stdin,
    trackFiles: false,
    signal: interrupt.signal,
    onOutput: passOn(io),
  });
  // Interactive shells end on SIGHUP and ignore SIGTERM.
  interrupt.pass(() => running.signal(constants.signals.SIGHUP));
  const resize = () => running.resize(terminalSizeOf(io.stdout));
  io.stdout.on("resize", resize);
  resize(); // it may have changed while the sandbox was made
  try {
    return await running.result;
  } finally {
    io.stdout.off("resize", resize);
  }
}

/** `caisson shell`: a terminal in a new sandbox. */
export function shell(caisson: Caisson, plan: ShellPlan, io: RunIo): Promise<number> {
  return atTerminal(io, async (interrupt) => {
    await checkInput(plan, io);
    await using sandbox = await caisson.createSandbox(boxOptions(plan));
    watchDisk(sandbox, io, interrupt.signal);
    interrupt.signal.throwIfAborted();
    const result = await converse(sandbox, plan, io, interrupt);
    if (interrupt.exitCode !== undefined) return interrupt.exitCode;
    await bringOutput(sandbox, plan, io);
    explain(io, result);
    return exitCodeOfResult(result);
  });
}

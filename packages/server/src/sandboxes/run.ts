import type { Command } from "../core/command.ts";
import { AppError } from "../core/errors.ts";
import { outcomeOf } from "../core/outcome.ts";
import type { Run, RunIo, RunResult } from "../core/run.ts";
import { showBytes } from "../core/size.ts";
import { checkTerminal } from "../core/terminal.ts";
import type { ExitRecord, OutputChannel, StreamSpec, WireStream } from "../core/wire.ts";
import { sendBody } from "./body.ts";
import { limitsOf } from "./command-limits.ts";
import { CpuGuard } from "./cpu-guard.ts";
import { errorOfErrno } from "./errno.ts";
import { toProcessResult } from "./process-result.ts";
import { RunOutput } from "./run-output.ts";
import type { Sandbox } from "./sandbox.ts";
import { toSpec } from "./spec.ts";

/** A line is for whichever shell there is. */
export function notStarted(errno: number, { shell, arguments: words = [], folder = "" }: StreamSpec): AppError {
  if (shell !== true) return errorOfErrno(errno, `cannot run '${words[0] ?? ""}' in ${folder}`);
  const { code, message, details } = errorOfErrno(errno, `cannot run /bin/bash or /bin/sh in ${folder}`);
  return new AppError(code, message, {
    hint: "the image may have no shell, or the folder may not exist: pass the command as a list, or set another cwd",
    ...(details === undefined ? {} : { details }),
  });
}

type Ending = Omit<RunResult, "stdout" | "stderr" | "truncated" | "refused" | "refused_truncated">;

async function describeEnd(
  sandbox: Sandbox,
  { id, spec, tracks }: { id: string; spec: StreamSpec; tracks: boolean },
  exit: ExitRecord,
): Promise<Ending> {
  const [found, oomKilled] = await Promise.all([sandbox.endRun(tracks), sandbox.oomKilled()]);
  if (exit.startError !== null) throw notStarted(exit.startError, spec);
  const ended = toProcessResult(exit, oomKilled);
  return {
    run_id: id,
    ...ended,
    ...outcomeOf(ended),
    warm: exit.warm,
    files_changed: sandbox.redactor.value(found.changes),
    files_changed_truncated: found.truncated,
    engine: sandbox.engine,
    enforced: sandbox.enforced,
    not_enforced: sandbox.notEnforced,
  };
}

/** Under gVisor the memory limit's last guard takes the whole sandbox (SBX-07); the caller is told when it was that. */
export async function tellLoss(sandbox: Sandbox, error: unknown): Promise<never> {
  if (!(error instanceof AppError) || !error.details?.sandbox_lost || !(await sandbox.oomKilled())) throw error;
  throw new AppError("limit_exceeded", "out of memory: the sandbox was lost", {
    hint: `create one with more memory than ${showBytes(sandbox.limits.memoryBytes)}`,
    details: { sandbox_lost: true, oom_killed: true },
    cause: error,
  });
}

function controlsOf(stream: WireStream, { terminal }: Command): Pick<Run, "write" | "resize"> {
  const needTerminal = () => {
    if (terminal === undefined) throw new AppError("invalid", "this run has no terminal");
  };
  return {
    write: async (chunk) => {
      needTerminal();
      return stream.write(chunk);
    },
    resize: (size) => {
      needTerminal();
      stream.resize(checkTerminal(size));
    },
  };
}

/** Starts a run: mark the files, open the stream, feed it; its result follows when it has ended. */
export async function startRun(sandbox: Sandbox, command: Command, io: RunIo, codeFile?: string): Promise<Run> {
  const { id, stdin } = command;
  const limits = limitsOf(sandbox, command);
  const spec = toSpec(sandbox, command, codeFile);
  const tracks = io.trackFiles !== false;
  io.signal?.throwIfAborted();
  await sandbox.beginRun(tracks);
  let failure: { error: unknown } | undefined;
  // What the caller's own input or listener throws ends the run, and is what the caller gets.
  const fail = (error: unknown) => {
    failure ??= { error };
    stream.killTree();
  };
  const output = new RunOutput({
    outputBytes: limits.outputBytes,
    onOutput: io.onOutput,
    redactor: sandbox.redactor,
    fail,
  });
  const stream = sandbox.wire.open("process", spec, (channel: OutputChannel, chunk: Buffer) => {
    const consumed = () => stream.consumed(channel, chunk.length);
    const wait = output.take(channel, chunk);
    if (wait === undefined) consumed();
    else void wait.then(consumed);
  });
  const refusals = sandbox.watchRefusals();
  const abort = () => stream.killTree();
  const guard = new CpuGuard(sandbox, limits.cpuTimeMs, abort);
  io.signal?.addEventListener("abort", abort, { once: true });
  if (io.signal?.aborted) abort(); // while the files were marked
  const input = stdin === "stream" ? io.input : stdin;
  if (input !== undefined) sendBody(stream, input).catch(fail);
  const result = stream.exit
    .then(
      async (exit) => {
        const ended = output.end();
        if (ended !== undefined) await ended;
        const ending = await describeEnd(
          sandbox,
          { id, spec, tracks },
          guard.fired ? { ...exit, cpuLimit: true } : exit,
        );
        return { ...output.result(), ...ending, ...sandbox.redactor.value(refusals.seen()) };
      },
      (error) => tellLoss(sandbox, error),
    )
    .finally(() => {
      guard[Symbol.dispose]();
      refusals[Symbol.dispose]();
      io.signal?.removeEventListener("abort", abort);
      if (failure !== undefined) throw failure.error;
    });
  result.catch(() => undefined); // whoever awaits it gets the error; nobody must
  return { id, result, signal: (number) => stream.signal(number), kill: abort, ...controlsOf(stream, command) };
}

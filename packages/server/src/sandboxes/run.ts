import { AppError } from "../core/errors.ts";
import { requestLimits, sandboxLimits } from "../core/limits.ts";
import { outcomeOf } from "../core/outcome.ts";
import type { Run, RunLimits, RunRequest, RunResult } from "../core/run.ts";
import type { Identified } from "../core/run-id.ts";
import { checkRange, showBytes, showSeconds } from "../core/size.ts";
import { checkTerminal } from "../core/terminal.ts";
import type { ExitRecord, OutputChannel, StreamSpec, WireStream } from "../core/wire.ts";
import { sendBody } from "./body.ts";
import { CpuGuard } from "./cpu-guard.ts";
import { errorOfErrno } from "./errno.ts";
import { toProcessResult } from "./process-result.ts";
import { RunOutput } from "./run-output.ts";
import type { Sandbox } from "./sandbox.ts";

function resolveLimits(asked: Partial<RunLimits>, sandbox: Sandbox): RunLimits {
  const usual = sandbox.runLimits;
  const timeoutMs = asked.timeoutMs ?? usual.timeoutMs ?? requestLimits.timeoutMs.default;
  if (timeoutMs !== 0) checkRange(timeoutMs, requestLimits.timeoutMs, "timeout", showSeconds);
  checkCores(asked, sandbox);
  const limits: RunLimits = {
    timeoutMs,
    cpuTimeMs: checkRange(
      asked.cpuTimeMs ?? usual.cpuTimeMs ?? requestLimits.cpuTimeMs.default,
      requestLimits.cpuTimeMs,
      "cpu time",
      showSeconds,
    ),
    processes: checkRange(asked.processes ?? sandbox.limits.processes, requestLimits.processes, "processes", String),
    outputBytes: checkRange(
      asked.outputBytes ?? usual.outputBytes ?? requestLimits.outputBytes.default,
      requestLimits.outputBytes,
      "output",
      showBytes,
    ),
  };
  if (asked.memoryBytes !== undefined)
    limits.memoryBytes = checkRange(asked.memoryBytes, requestLimits.memoryBytes, "memory", showBytes);
  return limits;
}

/** Refuses fewer cores than the sandbox has: they are a limit of all its processes together. */
export function checkCores({ cpus }: Partial<RunLimits>, sandbox: Sandbox): void {
  const { cpus: cores } = sandbox.limits;
  if (cpus === undefined || cpus >= cores) return;
  throw new AppError("unsupported", `a run cannot have fewer cores than its sandbox, which has ${cores}`, {
    hint: "set the cores of the sandbox",
  });
}

/** Names and values that a program can be given. */
export function checkEnvironment<E extends Readonly<Record<string, string>>>(given: E): E {
  const names = Object.keys(given).length;
  if (names > sandboxLimits.variables)
    throw new AppError("invalid", `an environment has at most ${sandboxLimits.variables} variables, not ${names}`);
  const bad = Object.entries(given).find(([name, value]) => !/^[^=\0]+$/.test(name) || value.includes("\0"));
  if (bad) throw new AppError("invalid", `environment: '${bad[0]}' is not a valid name, or its value holds a NUL`);
  return given;
}

export function environment(sandbox: Sandbox, extra: Readonly<Record<string, string>>): Record<string, string> {
  return { ...sandbox.environment, ...checkEnvironment(extra) };
}

/** Refuses what Linux would not start: it counts a pointer for each word, and the paths of the program and its interpreter. */
function checkWords(argv: readonly string[], variables: Readonly<Record<string, string>>): void {
  const { wordBytes, wordsBytes, pathBytes } = sandboxLimits;
  const hint = "send much data as standard input, or write it to a file";
  let all = 2 * pathBytes;
  for (const word of [...argv, ...Object.entries(variables).map(([name, value]) => `${name}=${value}`)]) {
    const bytes = Buffer.byteLength(word) + 1;
    if (bytes > wordBytes)
      throw new AppError("too_large", `an argument or variable has ${bytes} bytes; Linux takes ${wordBytes}`, { hint });
    all += bytes + 8;
  }
  if (all > wordsBytes)
    throw new AppError("too_large", `arguments and environment have ${all} bytes; Linux takes ${wordsBytes}`, { hint });
}

/** What the guest is told of a command. */
export function toSpec(
  sandbox: Sandbox,
  request: Pick<RunRequest, "command" | "cwd" | "env" | "stdin" | "warm" | "terminal">,
  limits: Omit<RunLimits, "outputBytes">,
): StreamSpec {
  const argv = typeof request.command === "string" ? ["/bin/bash", "-c", request.command] : request.command;
  if (argv.length === 0 || argv[0] === "") throw new AppError("invalid", "the command is empty");
  if (argv.length > sandboxLimits.arguments)
    throw new AppError("too_large", `more than ${sandboxLimits.arguments} arguments`);
  if (argv.some((argument) => argument.includes("\0"))) throw new AppError("invalid", "the command holds a NUL");
  const variables = environment(sandbox, request.env ?? {});
  checkWords(argv, variables);
  return {
    arguments: argv,
    environment: variables,
    folder: request.cwd ?? sandbox.folder,
    timeoutMs: limits.timeoutMs,
    cpuMs: limits.cpuTimeMs,
    processes: Math.max(1, limits.processes - sandbox.processSlack),
    openFiles: sandboxLimits.openFiles,
    ...memoryLimit(sandbox, limits),
    stdin: request.stdin !== undefined,
    shell: typeof request.command === "string",
    ...(request.warm === undefined ? {} : { warm: request.warm }),
    ...(request.terminal === undefined ? {} : { terminal: checkTerminal(request.terminal) }),
  };
}

/** A line is for whichever shell there is. */
export function notStarted(errno: number, command: RunRequest["command"], folder: string): AppError {
  if (typeof command !== "string") return errorOfErrno(errno, `cannot run '${command[0] ?? ""}' in ${folder}`);
  const { code, message, details } = errorOfErrno(errno, `cannot run /bin/bash or /bin/sh in ${folder}`);
  return new AppError(code, message, {
    hint: "where the image has no shell, or the folder is not there: give a list of words, or another cwd",
    ...(details === undefined ? {} : { details }),
  });
}

/** A limit of the run's own, and the sandbox's where nothing else holds it. */
function memoryLimit(sandbox: Sandbox, { memoryBytes }: Partial<RunLimits>): { memoryBytes?: number } {
  const watched = sandbox.runsWatchMemory ? sandbox.limits.memoryBytes : undefined;
  const least = Math.min(memoryBytes ?? Number.POSITIVE_INFINITY, watched ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(least) ? { memoryBytes: least } : {};
}

type Ending = Omit<RunResult, "stdout" | "stderr" | "truncated" | "refused" | "refused_truncated">;

async function describeEnd(sandbox: Sandbox, request: Identified<RunRequest>, exit: ExitRecord): Promise<Ending> {
  const [found, oomKilled] = await Promise.all([sandbox.endRun(request.trackFiles !== false), sandbox.oomKilled()]);
  if (exit.startError !== null) {
    throw notStarted(exit.startError, request.command, request.cwd ?? sandbox.folder);
  }
  const ended = toProcessResult(exit, oomKilled);
  return {
    run_id: request.id,
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
  throw new AppError("limit_exceeded", "out of memory: the sandbox is lost", {
    hint: `its memory limit was ${showBytes(sandbox.limits.memoryBytes)}`,
    details: { sandbox_lost: true, oom_killed: true },
    cause: error,
  });
}

function controlsOf(stream: WireStream, request: RunRequest): Pick<Run, "write" | "resize"> {
  const needTerminal = () => {
    if (request.terminal === undefined) throw new AppError("invalid", "this run has no terminal");
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
export async function startRun(sandbox: Sandbox, request: Identified<RunRequest>): Promise<Run> {
  const limits = resolveLimits(request.limits ?? {}, sandbox);
  const spec = toSpec(sandbox, request, limits);
  request.signal?.throwIfAborted();
  await sandbox.beginRun(request.trackFiles !== false);
  let failure: { error: unknown } | undefined;
  // What the caller's own input or listener throws ends the run, and is what the caller gets.
  const fail = (error: unknown) => {
    failure ??= { error };
    stream.killTree();
  };
  const output = new RunOutput({
    outputBytes: limits.outputBytes,
    onOutput: request.onOutput,
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
  request.signal?.addEventListener("abort", abort, { once: true });
  if (request.signal?.aborted) abort(); // while the files were marked
  if (request.stdin !== undefined) sendBody(stream, request.stdin).catch(fail);
  const result = stream.exit
    .then(
      async (exit) => {
        const ended = output.end();
        if (ended !== undefined) await ended;
        const ending = await describeEnd(sandbox, request, guard.fired ? { ...exit, cpuLimit: true } : exit);
        return { ...output.result(), ...ending, ...sandbox.redactor.value(refusals.seen()) };
      },
      (error) => tellLoss(sandbox, error),
    )
    .finally(() => {
      guard[Symbol.dispose]();
      refusals[Symbol.dispose]();
      request.signal?.removeEventListener("abort", abort);
      if (failure !== undefined) throw failure.error;
    });
  result.catch(() => undefined); // whoever awaits it gets the error; nobody must
  const { id } = request;
  return { id, result, signal: (number) => stream.signal(number), kill: abort, ...controlsOf(stream, request) };
}

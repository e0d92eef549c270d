import type { Command } from "../core/command.ts";
import { messageOf } from "../core/errors.ts";
import type { ServedIo, ServedProgram } from "../core/served-program.ts";
import type { OutputChannel } from "../core/wire.ts";
import { CleanOutput } from "../dlp/clean-output.ts";
import { toProcessResult } from "./process-result.ts";
import { notStarted } from "./run.ts";
import type { Sandbox } from "./sandbox.ts";
import { toSpec } from "./spec.ts";

/**
 * Runs the program of a hosted server until it is ended: without a limit of time, and without a copy of its output, which
 * streams with back-pressure. It ends with this owner's hold on the sandbox.
 */
export async function serveProgram(sandbox: Sandbox, command: Command, io: ServedIo): Promise<ServedProgram> {
  const { timeoutMs: _time, cpuMs: _cpu, ...spec } = toSpec(sandbox, command);
  await sandbox.beginRun(false);
  const { redactor } = sandbox;
  const clean = new CleanOutput({ stdout: redactor.stream("mark"), stderr: redactor.stream("mark") }, (_, piece) =>
    io.log(piece),
  );
  const listen = (channel: OutputChannel, chunk: Buffer) => {
    const waits = [
      ...(channel === "stdout" && io.stdout !== undefined ? [io.stdout(chunk)] : []),
      ...(channel === "stderr" || io.logsStdout ? [clean.push(channel, chunk)] : []),
    ].filter((wait) => wait !== undefined);
    const consumed = () => stream.consumed(channel, chunk.length);
    if (waits.length === 0) consumed();
    else void Promise.allSettled(waits).then(consumed);
  };
  const stream = sandbox.wire.open("process", { ...spec, stdin: io.hasInput }, listen);
  const exit = stream.exit.finally(() => sandbox.endRun(false));
  const ended = exit
    .then(
      async (record) => describe(toProcessResult(record, await sandbox.oomKilled().catch(() => false))),
      (error: unknown) => messageOf(error),
    )
    .finally(() => clean.end()?.catch(() => undefined)); // a full disk is no reason to stop the daemon
  await stream.started.catch(async (error: unknown) => {
    const record = await stream.exit.catch(() => undefined);
    if (record?.startError == null) throw error;
    throw notStarted(record.startError, spec);
  });
  return {
    ended,
    write: (chunk) => stream.write(chunk),
    signal: (number) => stream.signal(number),
    kill: () => stream.killTree(),
  };
}

function describe({ exit_code, signal, oom_killed }: ReturnType<typeof toProcessResult>): string {
  if (oom_killed) return "out of memory";
  return signal === null ? `exit code ${exit_code}` : `ended by ${signal}`;
}

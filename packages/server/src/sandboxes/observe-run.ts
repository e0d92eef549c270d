import { type Command, textOf } from "../core/command.ts";
import type { Run, RunIo } from "../core/run.ts";
import type { ObservedRun, RunObserver } from "../core/run-observer.ts";
import { Capture } from "./capture.ts";

function observedRun(sandboxId: string, command: Command): ObservedRun {
  const { id, what } = command;
  const language = "code" in what ? what.language : null;
  return { id, sandboxId, startedAtMs: Date.now(), command: textOf(command), language };
}

/** Starts a run under the eyes of the observer, which sees what the caller gets and holds up nothing but the result. */
export async function observeRun(
  observer: RunObserver,
  sandboxId: string,
  command: Command,
  io: RunIo,
  start: (io: RunIo) => Promise<Run>,
): Promise<Run> {
  const seen = { stdout: new Capture(observer.outputBytes), stderr: new Capture(observer.outputBytes) };
  const { onOutput } = io;
  const observed: RunIo =
    onOutput === undefined
      ? io
      : {
          ...io,
          onOutput: (channel, chunk) => {
            seen[channel].add(chunk);
            return onOutput(channel, chunk);
          },
        };
  const described = observedRun(sandboxId, command); // before anything of it can connect or write
  const run = await start(observed);
  const started = observer.started(described);
  const result = run.result.then(
    async (done) => {
      const { stdout, stderr } = seen;
      const shown =
        onOutput === undefined
          ? done
          : {
              ...done,
              stdout: stdout.text(),
              stderr: stderr.text(),
              truncated: stdout.truncated || stderr.truncated,
            };
      await started;
      await observer.ended(described, { result: shown });
      return done;
    },
    async (error) => {
      await started;
      await observer.ended(described, { error, stdout: seen.stdout.text(), stderr: seen.stderr.text() });
      throw error;
    },
  );
  result.catch(() => undefined); // whoever awaits it gets the error; nobody must
  await started;
  return { ...run, result };
}

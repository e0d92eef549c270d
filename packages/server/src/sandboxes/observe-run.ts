import type { CodeRequest, Run, RunRequest } from "../core/run.ts";
import { type Identified, newRunId } from "../core/run-id.ts";
import type { ObservedRun, RunObserver } from "../core/run-observer.ts";
import { Capture } from "./capture.ts";

export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function describe(sandboxId: string, request: Identified<RunRequest | CodeRequest>): ObservedRun {
  const run = { id: request.id, sandboxId, startedAtMs: Date.now() };
  if ("code" in request) return { ...run, command: request.code, language: request.language };
  const { command } = request;
  return { ...run, command: typeof command === "string" ? command : command.map(quote).join(" "), language: null };
}

/** Starts a run under the eyes of the observer, which sees what the caller gets and holds up nothing but the result. */
export async function observeRun<R extends RunRequest | CodeRequest>(
  observer: RunObserver,
  sandboxId: string,
  request: R,
  start: (request: Identified<R>) => Promise<Run>,
): Promise<Run> {
  const id = request.id ?? newRunId();
  const seen = { stdout: new Capture(observer.outputBytes), stderr: new Capture(observer.outputBytes) };
  const { onOutput } = request;
  const observed: R =
    onOutput === undefined
      ? request
      : {
          ...request,
          onOutput: (channel, chunk) => {
            seen[channel].add(chunk);
            return onOutput(channel, chunk);
          },
        };
  const run = await start({ ...observed, id });
  const described = describe(sandboxId, { ...request, id });
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

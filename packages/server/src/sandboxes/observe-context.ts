import type { ContextLanguage, ContextRunResult } from "../core/context.ts";
import type { ObservedResult, RunObserver } from "../core/run-observer.ts";
import type { OutputChannel } from "../core/wire.ts";
import { Capture } from "./capture.ts";
import { contextExit } from "./context-exit.ts";
import type { CodeRun } from "./context-run.ts";

type Seen = Record<OutputChannel, Capture>;

/** Its error stands behind what it wrote to stderr. */
function toResult(done: ContextRunResult, { listeners }: CodeRun, seen: Seen): ObservedResult {
  const { error } = done;
  const written = (channel: OutputChannel) => (listeners[channel] === undefined ? done[channel] : seen[channel].text());
  const failure = error === undefined ? "" : error.traceback || `${error.name}: ${error.message}`;
  return {
    ...contextExit(done),
    stdout: written("stdout"),
    stderr: written("stderr") + failure,
    truncated: done.truncated || seen.stdout.truncated || seen.stderr.truncated,
    duration_ms: done.duration_ms,
    cpu_ms: 0,
    timed_out: done.timed_out,
    cpu_limit: done.cpu_limit,
    files_changed: [],
    files_changed_truncated: false,
  };
}

/** A run of a context under the eyes of the observer. It begins before this returns. */
export function observeContextRun(
  observer: RunObserver,
  context: { sandboxId: string; language: ContextLanguage },
  request: CodeRun,
  complete: (request: CodeRun) => Promise<ContextRunResult>,
): Promise<ContextRunResult> {
  const seen = { stdout: new Capture(observer.outputBytes), stderr: new Capture(observer.outputBytes) };
  const listen = (channel: OutputChannel) => {
    const listener = request.listeners[channel];
    if (listener === undefined) return undefined;
    return (chunk: Buffer) => {
      seen[channel].add(chunk);
      return listener(chunk);
    };
  };
  const run = { id: request.id, startedAtMs: Date.now(), command: request.code, ...context };
  const started = observer.started(run);
  started.catch(() => undefined); // the end of the run tells of it
  return complete({ ...request, listeners: { stdout: listen("stdout"), stderr: listen("stderr") } }).then(
    async (done) => {
      await started;
      await observer.ended(run, { result: toResult(done, request, seen) });
      return done;
    },
    async (error) => {
      await started;
      await observer.ended(run, { error, stdout: seen.stdout.text(), stderr: seen.stderr.text() });
      throw error;
    },
  );
}

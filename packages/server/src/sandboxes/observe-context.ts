import type { ContextLanguage, ContextRunResult } from "../core/context.ts";
import { withHashes } from "../core/output-hashes.ts";
import type { ObservedResult, RunObserver } from "../core/run-observer.ts";
import type { OutputChannel } from "../core/wire.ts";
import { Capture } from "./capture.ts";
import type { CheckedRun } from "./context-run.ts";

type Seen = Record<OutputChannel, Capture>;

/** A context has no exit code of its own: code that failed counts as 1. Its error stands behind what it wrote to stderr. */
function toResult(done: ContextRunResult, { listeners }: CheckedRun, seen: Seen): ObservedResult {
  const { error, ended } = done;
  const written = (channel: OutputChannel) => (listeners[channel] === undefined ? done[channel] : seen[channel].text());
  const failure = error === undefined ? "" : error.traceback || `${error.name}: ${error.message}`;
  return {
    exit_code: error === undefined ? 0 : (ended?.exit_code ?? 1),
    signal: ended?.signal ?? null,
    stdout: written("stdout"),
    stderr: written("stderr") + failure,
    truncated: done.truncated || seen.stdout.truncated || seen.stderr.truncated,
    duration_ms: done.duration_ms,
    cpu_ms: 0,
    timed_out: done.timed_out,
    cpu_limit: done.cpu_limit,
    oom_killed: ended?.oom_killed ?? false,
    files_changed: [],
    files_changed_truncated: false,
  };
}

/** A run of a context under the eyes of the observer. It begins before this returns. */
export function observeContextRun(
  observer: RunObserver,
  context: { sandboxId: string; language: ContextLanguage },
  request: CheckedRun,
  complete: (request: CheckedRun) => Promise<ContextRunResult>,
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
  observer.started(run);
  return complete({ ...request, listeners: { stdout: listen("stdout"), stderr: listen("stderr") } }).then(
    async (done) => {
      const { stored, hashes } = observer.ended(run, { result: toResult(done, request, seen) });
      await stored;
      return withHashes(done, hashes);
    },
    async (error) => {
      await observer.ended(run, { error, stdout: seen.stdout.text(), stderr: seen.stderr.text() }).stored;
      throw error;
    },
  );
}

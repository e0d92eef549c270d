import type { EngineName } from "../core/engine.ts";
import { AppError, messageOf } from "../core/errors.ts";
import { recordLimits } from "../core/limits.ts";
import { outcomeOf } from "../core/outcome.ts";
import type { ObservedRun, RunEnding } from "../core/run-observer.ts";
import type { RecordOptions, RunRecord } from "../core/run-record.ts";

/** The first bytes of a text, whole characters only. */
function cut(text: string, bytes: number): string {
  if (text.length <= bytes / 3) return text; // no UTF-16 unit takes more than three bytes
  const whole = Buffer.from(text, "utf8");
  return whole.length <= bytes ? text : new TextDecoder().decode(whole.subarray(0, bytes), { stream: true });
}

/** Fails closed: what could not be looked through is not kept. */
function redacted(text: string, redact: RecordOptions["redact"]): string {
  if (redact === undefined || text === "") return text;
  try {
    return redact(text);
  } catch {
    return "";
  }
}

function errorOf(error: unknown): RunRecord["error"] {
  if (error instanceof AppError) return { code: error.code, message: error.message };
  return { code: "internal", message: messageOf(error) };
}

/** What is kept of a run: redacted first, then cut to its caps. */
export function toRecord(run: ObservedRun, engine: EngineName, ending: RunEnding, options: RecordOptions): RunRecord {
  const { result } = ending;
  const written = result ?? ending;
  let isCut = result?.truncated === true || result?.files_changed_truncated === true;
  const keep = (text: string, bytes: number) => {
    const clean = redacted(text, options.redact);
    const kept = cut(clean, bytes);
    if (kept !== clean) isCut = true;
    return kept;
  };
  const stdout = keep(written.stdout, options.outputBytes);
  const stderr = keep(written.stderr, options.outputBytes);
  const command = keep(run.command, recordLimits.commandBytes);
  const error = result === undefined ? errorOf(ending.error) : null;
  const message = keep(error?.message ?? "", recordLimits.commandBytes);
  const changes = result?.files_changed ?? [];
  const files = changes.slice(0, recordLimits.filesChanged);
  if (files.length < changes.length) isCut = true;
  return {
    run_id: run.id,
    sandbox_id: run.sandboxId,
    engine,
    started_at: new Date(run.startedAtMs).toISOString(),
    command,
    language: run.language,
    ...outcomeOf(result),
    exit_code: result?.exit_code ?? null,
    signal: result?.signal ?? null,
    duration_ms: result?.duration_ms ?? Math.max(0, Date.now() - run.startedAtMs),
    cpu_ms: result?.cpu_ms ?? 0,
    timed_out: result?.timed_out ?? false,
    cpu_limit: result?.cpu_limit ?? false,
    oom_killed: result?.oom_killed ?? false,
    stdout,
    stderr,
    truncated: isCut,
    files_changed: files.map((change) => ({ ...change, path: redacted(change.path, options.redact) })),
    error: error === null ? null : { code: error.code, message },
  };
}

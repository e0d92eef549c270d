import type { ProcessResult } from "../core/process-result.ts";
import type { ObservedRun, RunObserver } from "../core/run-observer.ts";
import type { OutputChannel } from "../core/wire.ts";
import { quote } from "../lib/quote.ts";
import type { ChannelLog } from "./channel-log.ts";
import type { ProcessRecord } from "./process-record.ts";

/** A background process as those see it who watch runs. */
export function observedProcess(
  sandboxId: string,
  { id: processId, runId, command, startedAt }: ProcessRecord,
): ObservedRun {
  return {
    id: runId,
    processId,
    sandboxId,
    startedAtMs: Date.parse(startedAt),
    command: command.map(quote).join(" "),
    language: null,
  };
}

/** Tells how it ended, with the oldest output that its logs still hold. */
export async function tellProcessEnd(
  observer: RunObserver,
  run: ObservedRun,
  logs: Record<OutputChannel, ChannelLog>,
  outcome: { result: ProcessResult } | { error: unknown },
): Promise<void> {
  const [stdout, stderr] = [await beginning(logs.stdout, observer), await beginning(logs.stderr, observer)];
  const texts = { stdout: stdout.text, stderr: stderr.text };
  if ("error" in outcome) return observer.ended(run, { ...outcome, ...texts });
  const { max_rss: _, ...result } = outcome.result;
  const truncated = !stdout.isWhole || !stderr.isWhole;
  const untracked = { files_changed: [], files_changed_truncated: false };
  await observer.ended(run, { result: { ...result, ...texts, ...untracked, truncated } });
}

async function beginning(log: ChannelLog, { outputBytes }: RunObserver): Promise<{ text: string; isWhole: boolean }> {
  if (outputBytes === 0) return { text: "", isWhole: true };
  try {
    const { offset, data } = await log.read(0, outputBytes);
    return { text: data.toString("utf8"), isWhole: offset === 0 && data.length === log.to };
  } catch {
    return { text: "", isWhole: false }; // logs that cannot be read keep no process from its end
  }
}

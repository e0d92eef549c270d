import type { Caisson as Daemon, RunRecord } from "@caisson/sdk";
import { openCaisson } from "../app.ts";
import { caissonOptions } from "../config/caisson-options.ts";
import type { Configuration } from "../config/config.ts";
import { namesDaemon, type Variables } from "../config/env.ts";
import { recordLimits } from "../core/limits.ts";
import { httpLimits } from "../http/limits.ts";
import { connect, findDaemon, toAppError } from "./client/connect.ts";
import { tellJson, tellTime } from "./client/tell.ts";
import type { RunIo } from "./run.ts";
import type { RunsPlan } from "./runs.ts";
import { visible } from "./terminal.ts";

function outcomeOf(record: RunRecord): string {
  if (record.error !== null) return record.error.code;
  if (record.timed_out) return "time-out";
  if (record.oom_killed) return "memory";
  return record.cpu_limit ? "cpu time" : String(record.exit_code);
}

function row(record: RunRecord): string {
  const spent = `${record.duration_ms} ms`.padStart(11);
  const command = visible(record.command.replaceAll("\n", " ")).slice(0, recordLimits.shownCharacters);
  const what = `${tellTime(record.started_at)}  ${record.run_id}  ${record.sandbox_id}  ${outcomeOf(record).padEnd(9)}${spent}`;
  return `${visible(what)}  ${command}\n`;
}

/** The last ones, oldest first. */
function newest(records: RunRecord[]): RunRecord[] {
  const sorted = records.sort((left, right) => Date.parse(left.started_at) - Date.parse(right.started_at));
  return sorted.slice(-recordLimits.recent);
}

/** Of the sandboxes that are there. One that was not used since the oldest record found has none newer. */
async function recentOf(daemon: Daemon): Promise<RunRecord[]> {
  const { recent } = recordLimits;
  const sandboxes = await Array.fromAsync(daemon.listSandboxes());
  sandboxes.sort((left, right) => Date.parse(right.info.last_used_at) - Date.parse(left.info.last_used_at));
  let found: RunRecord[] = [];
  for (const sandbox of sandboxes) {
    const oldest = found.length < recent ? undefined : found[0];
    if (oldest !== undefined && Date.parse(sandbox.info.last_used_at) < Date.parse(oldest.started_at)) break;
    found = newest([...found, ...(await sandbox.runs({ limit: recent }))]);
  }
  return found;
}

/** What `caisson run` and `shell` left, whether a daemon runs or not. */
async function localRecords(configuration: Configuration, { sandboxId }: RunsPlan): Promise<RunRecord[]> {
  await using caisson = openCaisson(caissonOptions(configuration));
  return sandboxId === undefined ? await caisson.recentRuns() : await caisson.runs(sandboxId);
}

async function findRecords(configuration: Configuration, variables: Variables, plan: RunsPlan): Promise<RunRecord[]> {
  const { sandboxId, namespace } = plan;
  const isElsewhere = namesDaemon(variables) || namespace !== undefined;
  const daemon = isElsewhere
    ? await connect(configuration, variables, namespace === undefined ? {} : { namespace })
    : await findDaemon(configuration, variables);
  const local = isElsewhere ? [] : await localRecords(configuration, plan);
  if (daemon === undefined) return local;
  if (sandboxId === undefined) return newest([...(await recentOf(daemon)), ...local]);
  if (local.length > 0) return local;
  return (await Array.fromAsync(daemon.listRuns(sandboxId, { limit: httpLimits.page.max }))).reverse();
}

export async function listRuns(
  configuration: Configuration,
  variables: Variables,
  plan: RunsPlan,
  io: RunIo,
): Promise<number> {
  const records = await findRecords(configuration, variables, plan).catch((error: unknown) => {
    throw toAppError(error);
  });
  if (plan.json) return tellJson(io, records);
  if (records.length === 0) io.stderr.write("caisson: no such run is recorded\n");
  else for (const record of records) io.stdout.write(row(record));
  return 0;
}

import { auditExecution } from "./audit-execution.ts";
import { bridgeData } from "./bridge-data.ts";
import { browserFetch } from "./browser-fetch.ts";
import { cancelJob } from "./cancel-job.ts";
import { createCheckpoint } from "./create-checkpoint.ts";
import { createSession } from "./create-session.ts";
import { createStateSnapshot } from "./create-state-snapshot.ts";
import { deleteCheckpoint } from "./delete-checkpoint.ts";
import { deleteFile } from "./delete-file.ts";
import { deleteStateSnapshot } from "./delete-state-snapshot.ts";
import { executeCode } from "./execute-code.ts";
import { fetchWebpage } from "./fetch-webpage.ts";
import { forkSandbox } from "./fork-sandbox.ts";
import { getArtifacts } from "./get-artifacts.ts";
import { getSandboxMetrics } from "./get-sandbox-metrics.ts";
import { hostExec } from "./host-exec.ts";
import { hostFileCopy } from "./host-file-copy.ts";
import { hostFileList } from "./host-file-list.ts";
import { hostFileRead } from "./host-file-read.ts";
import { hostFileWrite } from "./host-file-write.ts";
import { inspectState } from "./inspect-state.ts";
import { installPackage } from "./install-package.ts";
import { installSkill } from "./install-skill.ts";
import { killProcess } from "./kill-process.ts";
import { listCheckpoints } from "./list-checkpoints.ts";
import { listFiles } from "./list-files.ts";
import { listHostAccess } from "./list-host-access.ts";
import { listProcesses } from "./list-processes.ts";
import { listRuntimes } from "./list-runtimes.ts";
import { listSkills } from "./list-skills.ts";
import { listStateSnapshots } from "./list-state-snapshots.ts";
import { listTemplates } from "./list-templates.ts";
import { moveFile } from "./move-file.ts";
import { processInput } from "./process-input.ts";
import { processOutput } from "./process-output.ts";
import { readFile } from "./read-file.ts";
import { readSkill } from "./read-skill.ts";
import { requestEgress } from "./request-egress.ts";
import { requestHostAccess } from "./request-host-access.ts";
import { restoreCheckpoint } from "./restore-checkpoint.ts";
import { restoreStateSnapshot } from "./restore-state-snapshot.ts";
import { runSandboxCode } from "./run-sandbox-code.ts";
import { sandboxStats } from "./sandbox-stats.ts";
import { searchFiles } from "./search-files.ts";
import { setResourceLimits } from "./set-resource-limits.ts";
import { startProcess } from "./start-process.ts";
import { terminateSession } from "./terminate-session.ts";
import type { Tool, ToolSet } from "./tool.ts";
import { validateCode } from "./validate-code.ts";
import { validateCsvData } from "./validate-csv-data.ts";
import { validateJsonData } from "./validate-json-data.ts";
import { webSearch } from "./web-search.ts";
import { writeFile } from "./write-file.ts";

/** Every tool there is, in the order clients see them. */
export const tools: readonly Tool[] = [
  executeCode,
  installPackage,
  createSession,
  readFile,
  writeFile,
  listFiles,
  getArtifacts,
  requestEgress,
  terminateSession,
  inspectState,
  bridgeData,
  listRuntimes,
  setResourceLimits,
  startProcess,
  processOutput,
  processInput,
  killProcess,
  listProcesses,
  createStateSnapshot,
  restoreStateSnapshot,
  listStateSnapshots,
  deleteStateSnapshot,
  forkSandbox,
  createCheckpoint,
  restoreCheckpoint,
  listCheckpoints,
  deleteCheckpoint,
  listTemplates,
  searchFiles,
  moveFile,
  deleteFile,
  listSkills,
  readSkill,
  installSkill,
  hostExec,
  requestHostAccess,
  listHostAccess,
  hostFileRead,
  hostFileWrite,
  hostFileList,
  hostFileCopy,
  webSearch,
  fetchWebpage,
  browserFetch,
  validateCode,
  runSandboxCode,
  validateJsonData,
  validateCsvData,
  sandboxStats,
  cancelJob,
  getSandboxMetrics,
  auditExecution,
];

/** Those of some sets; a tool that is in two comes once. */
export function toolsOf(sets: readonly ToolSet[]): Tool[] {
  return tools.filter((tool) => tool.sets.some((set) => sets.includes(set)));
}

/** Of callers without a session of their own. */
export const defaultSession = "default";

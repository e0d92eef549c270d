import type { ContextInfo, ContextRunResult, StatefulResult } from "./context.ts";
import type { SandboxFiles } from "./file.ts";
import type { SandboxProcess } from "./process.ts";
import type { Run, RunIo, RunResult } from "./run.ts";

/**
 * A running sandbox, held for one command: nothing else can be run by it (S106). Which method starts the command follows
 * from what the command is.
 */
export interface CommandHandle {
  readonly sandboxId: string;
  readonly files: SandboxFiles;
  /** Starts a run or a terminal. */
  start(io?: RunIo): Promise<Run>;
  /** Starts a run and waits for its end. */
  run(io?: RunIo): Promise<RunResult>;
  /** Runs code in its context. */
  runInContext(io?: RunIo): Promise<ContextRunResult>;
  /** The same, with a result like that of other runs. */
  runStateful(io?: RunIo): Promise<StatefulResult>;
  createContext(): Promise<ContextInfo>;
  startProcess(): Promise<SandboxProcess>;
}

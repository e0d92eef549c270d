/** Client of a Caisson daemon: the whole public surface. docs/sdk.md says how to use it. */
export { Caisson } from "./caisson.ts";
export { ApiError, CaissonError, ConnectionError, type ErrorCode, TimeoutError } from "./error.ts";
export type { FileBody, FileEvent, FileInfo, Files, SearchOptions, SearchResult, SignedUrl } from "./files.ts";
export type { FileChange, ProcessResult, RunEnd, RunMessage, RunOptions, RunResult } from "./run.ts";
export type { Command, Language, Sandbox } from "./sandbox.ts";
export type {
  CreateOptions,
  EngineName,
  ListOptions,
  SandboxChanges,
  SandboxInfo,
  SandboxState,
} from "./sandbox-info.ts";
export type { ClientOptions } from "./transport.ts";

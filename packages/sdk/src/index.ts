/** Client of a Caisson daemon: the whole public surface. docs/sdk.md says how to use it. */
export type {
  ApprovalAnswer,
  ApprovalFilter,
  ApprovalInfo,
  ApprovalKind,
  ApprovalScope,
  ApprovalState,
  Approvals,
  EgressRequest,
} from "./approvals.ts";
export type { Artifact, Artifacts, Manifest } from "./artifacts.ts";
export type { AuditContent, AuditFilter, AuditLog, AuditRow, AuditVerdict, ChainVerdict } from "./audit.ts";
export { Caisson } from "./caisson.ts";
export type { CheckpointInfo, Checkpoints } from "./checkpoints.ts";
export type {
  Context,
  ContextEnd,
  ContextInfo,
  ContextMessage,
  ContextOptions,
  ContextRunEnd,
  ContextRunOptions,
  ContextRunResult,
  ContextValue,
} from "./contexts.ts";
export type { DaemonStats, PoolInfo, QueuedJob, QueueInfo } from "./daemon-info.ts";
export type {
  Egress,
  EgressAllow,
  EgressAttempt,
  EgressChange,
  EgressDenyRule,
  EgressExplanation,
  EgressLayer,
  EgressLogQuery,
  EgressPolicy,
  EgressRule,
  NamespaceEgress,
  NamespaceEgressChange,
  NamespaceEgressRequest,
  NetworkRequest,
  SandboxEgress,
  SandboxEgressRules,
} from "./egress.ts";
export { ApiError, CaissonError, ConnectionError, type ErrorCode, TimeoutError } from "./error.ts";
export type { DaemonEvent, EventOptions } from "./events.ts";
export type { FileBody, FileEvent, FileInfo, Files, SearchOptions, SearchResult, SignedUrl } from "./files.ts";
export type { Fork, ForkInfo, ForkOptions } from "./fork.ts";
export type { Collected, CollectedKind, CollectedThing } from "./gc.ts";
export type { CatalogueEntry, ImageInfo, ImageLogMessage, Images, ImportImage, LoadImage } from "./images.ts";
export type { KeptArtifacts, KeptArtifactsInfo } from "./kept-artifacts.ts";
export type { ApiKeyInfo, CreateKey, Keys, Role } from "./keys.ts";
export type { McpConnection, McpOptions } from "./mcp.ts";
export type { RpcMessage } from "./mcp-message.ts";
export type {
  InstalledPackage,
  InstallOutcome,
  InstallPackages,
  PackageManager,
  PackageRecord,
  Packages,
} from "./packages.ts";
export type { PortInfo, PortLink, Ports, PortVisibility } from "./ports.ts";
export type {
  OutputMessage,
  OutputOptions,
  OutputPiece,
  Process,
  ProcessInfo,
  StartOptions,
  TerminalSize,
} from "./processes.ts";
export type {
  FileChange,
  NetworkRefusal,
  ProcessResult,
  RunEnd,
  RunMessage,
  RunMet,
  RunOptions,
  RunResult,
} from "./run.ts";
export type { RunRecord, SandboxStats } from "./run-record.ts";
export type { RunArtifact, RunEgress, RunReport, Runs } from "./runs.ts";
export type { Command, Language, Sandbox } from "./sandbox.ts";
export type {
  CreateOptions,
  EngineName,
  ListOptions,
  SandboxChanges,
  SandboxInfo,
  SandboxState,
} from "./sandbox-info.ts";
export type {
  PutSecret,
  SecretBinding,
  SecretDelivery,
  SecretInfo,
  Secrets,
  SecretTarget,
} from "./secrets.ts";
export type { ServerTool, ServerToolResult } from "./server-calls.ts";
export type {
  DeployedServer,
  DeployServer,
  ServerBuildMessage,
  ServerInfo,
  ServerSettings,
  ServerSource,
  Servers,
  ServerVersionDetail,
  ServerVersionDifference,
  ServerVersionInfo,
} from "./servers.ts";
export type { InstalledSkill, InstalledSkills, SkillFile, SkillInfo, Skills } from "./skills.ts";
export type {
  Restored,
  SandboxSnapshots,
  SnapshotDiff,
  SnapshotDifference,
  SnapshotFile,
  SnapshotInfo,
  Snapshots,
} from "./snapshots.ts";
export type { CreateTemplate, TemplateInfo, Templates, WarmUp } from "./templates.ts";
export type { Terminal, TerminalEnd, TerminalOptions } from "./terminal.ts";
export type { ToolContent, ToolInfo, ToolOptions, ToolOutcome, ToolSet, Tools } from "./tools.ts";
export type { ClientOptions } from "./transport.ts";
export type { WebhookDelivery, WebhookInfo, Webhooks } from "./webhooks.ts";

/** Caisson as a library: the whole public surface. docs/library.md says how to use it. */
import { Caisson, type CreateOptions } from "./app.ts";
import { caissonOptions } from "./config/caisson-options.ts";
import { loadConfiguration } from "./config/config.ts";
import { readEnvironment, type Variables } from "./config/env.ts";
import { checkOpenOptions, type OtherNames } from "./config/library-options.ts";
import type { Settings } from "./config/settings.ts";
import type { RecordOptions } from "./core/run-record.ts";
import { defined } from "./lib/defined.ts";
import type { Sandbox } from "./sandboxes/sandbox.ts";

export type { Caisson, CreateOptions } from "./app.ts";
export type { Settings } from "./config/settings.ts";
export type { ContextOptions, ContextRunOptions, ContextRunResult } from "./core/context.ts";
export type { PolicyDraft, RuleDraft } from "./core/egress-policies.ts";
export { AppError, type ErrorCode } from "./core/errors.ts";
export type { EventFilter, EventStream, Events, JournalEvent, LagEvent } from "./core/journal.ts";
export type { Artifact, ArtifactContent, Manifest, Signer } from "./core/manifest.ts";
export type { ProcessInfo, ProcessRequest, SandboxProcess } from "./core/process.ts";
export type { ProcessResult } from "./core/process-result.ts";
export type { CodeRequest, Run, RunRequest, RunResult } from "./core/run.ts";
export type { RunRecord } from "./core/run-record.ts";
export { verifyFile, verifyManifest } from "./sandboxes/manifest.ts";
export type { Sandbox } from "./sandboxes/sandbox.ts";

export interface OpenOptions {
  /** The data folder, instead of CAISSON_HOME. */
  home?: string;
  /** The checkout or installation. */
  root?: string;
  /** A configuration instead of caisson.yaml in the data folder; null reads none. */
  configFile?: string | null;
  /** Instead of this process's variables; an empty object ignores them. */
  environment?: Variables;
  /** Settings by the names of caisson.yaml. They win over the file and the environment. */
  settings?: Partial<Settings>;
  /** Every text that a run record would keep passes through here first. */
  redact?: NonNullable<RecordOptions["redact"]>;
}

/** A Caisson from defaults, caisson.yaml, the environment and these options, each winning over those before it. */
export async function openCaisson(options: OpenOptions = {}): Promise<Caisson> {
  checkOpenOptions(options);
  const read = readEnvironment(options.environment);
  const environment = {
    ...read,
    root: options.root ?? read.root,
    ...(options.home === undefined ? {} : { home: options.home, homeOrigin: "options" }),
  };
  const configuration = await loadConfiguration({
    environment,
    ...(options.configFile === undefined ? {} : { configFile: options.configFile }),
    ...(options.settings === undefined ? {} : { options: options.settings }),
  });
  const { records, ...configured } = caissonOptions(configuration);
  const { redact } = options;
  return new Caisson({
    ...configured,
    ...(records === undefined ? {} : { records: redact === undefined ? records : { ...records, redact } }),
  });
}

export type SandboxOptions = Omit<CreateOptions, "afterLeave" | "root" | "base"> & OtherNames;

/** One sandbox with a Caisson of its own, which closes with it. */
export async function createSandbox(options: OpenOptions & SandboxOptions = {}): Promise<Sandbox> {
  const { root, home, configFile, environment, settings, redact, ...given } = options;
  const caisson = await openCaisson(defined({ root, home, configFile, environment, settings, redact }));
  const close = () => caisson[Symbol.asyncDispose]();
  try {
    return await caisson.createSandbox({ ...given, afterLeave: close });
  } catch (error) {
    await close();
    throw error;
  }
}

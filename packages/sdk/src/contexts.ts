import { type LiveOptions, readLive } from "./live.ts";
import type { RunMet, RunOptions } from "./run.ts";
import type { Transport } from "./transport.ts";

export interface ContextOptions {
  language: "python" | "node";
  cwd?: string;
  env?: Record<string, string>;
  /** Memory and processes of its interpreter; time and output are limits of a run. */
  resource_limits?: RunOptions["resource_limits"];
}

export interface ContextEnd {
  reason: string;
  exit_code: number | null;
  signal: string | null;
  oom_killed: boolean;
}

export interface ContextInfo {
  id: string;
  language: "python" | "node";
  idle: boolean;
  /** Why its interpreter is gone; a restart brings a new one. */
  ended: ContextEnd | null;
}

export interface ContextRunOptions {
  stdin?: string;
  timeout_seconds?: number;
  /** Time and output; memory and processes are limits of the context. */
  resource_limits?: RunOptions["resource_limits"];
}

/** One value that the code showed. Everything in it is the code's own word: HTML and SVG may hold anything. */
export interface ContextValue {
  kind: "value" | "display";
  text: string;
  json?: unknown;
  html?: string;
  /** Base64. */
  png?: string;
  svg?: string;
  truncated: boolean;
}

export interface ContextRunEnd extends RunMet {
  run_id: string;
  truncated: boolean;
  results: ContextValue[];
  error?: { name: string; message: string; traceback: string };
  duration_ms: number;
  timed_out: boolean;
  cpu_limit: boolean;
  ended?: ContextEnd;
}

export interface ContextRunResult extends ContextRunEnd {
  stdout: string;
  stderr: string;
}

export type ContextMessage = { type: "stdout" | "stderr"; data: string } | ({ type: "result" } & ContextRunEnd);

/** An interpreter whose variables live on. `await using` ends it. */
export class Context implements AsyncDisposable {
  readonly id: string;
  readonly language: ContextInfo["language"];
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, path: string, { id, language }: ContextInfo) {
    this.id = id;
    this.language = language;
    this.#transport = transport;
    this.#path = `${path}/${encodeURIComponent(id)}`;
  }

  run(code: string, { signal, ...options }: ContextRunOptions & LiveOptions = {}): Promise<ContextRunResult> {
    const call = { json: { code, ...options }, timeoutMs: null, ...(signal === undefined ? {} : { signal }) };
    return this.#transport.json("POST", `${this.#path}/run`, call);
  }

  /** Output as it comes; leaving the loop interrupts the code. */
  runStream(code: string, options: ContextRunOptions & LiveOptions = {}): AsyncGenerator<ContextMessage, void> {
    const { signal, ...rest } = options;
    const call = { json: { code, ...rest, stream: true }, ...(signal === undefined ? {} : { signal }) };
    return readLive<ContextMessage>(this.#transport, "POST", `${this.#path}/run`, call, "result");
  }

  interrupt(): Promise<ContextInfo> {
    return this.#transport.json("POST", `${this.#path}/interrupt`);
  }

  restart(): Promise<ContextInfo> {
    return this.#transport.json("POST", `${this.#path}/restart`);
  }

  async end(): Promise<void> {
    await this.#transport.json("DELETE", this.#path);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }
}

export class Contexts {
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, sandboxPath: string) {
    this.#transport = transport;
    this.#path = `${sandboxPath}/contexts`;
  }

  async create(options: ContextOptions): Promise<Context> {
    const call = { json: options, idempotencyKey: crypto.randomUUID() };
    return new Context(this.#transport, this.#path, await this.#transport.json("POST", this.#path, call));
  }

  list(): Promise<ContextInfo[]> {
    return this.#transport.json("GET", this.#path);
  }
}

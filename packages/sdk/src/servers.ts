import type { NetworkRequest } from "./egress.ts";
import type { FileBody } from "./files.ts";
import { type LiveOptions, readLive } from "./live.ts";
import { type ServerTool, type ServerToolResult, withServer } from "./server-calls.ts";
import type { ToolOptions } from "./tools.ts";
import type { Transport } from "./transport.ts";

/** Settings of a hosted server. They are no part of a version: a rollback keeps them. */
export interface ServerSettings {
  /** Words of the command that starts it; null: what the build finds. */
  command?: string[] | null;
  port?: number;
  image?: string;
  env?: Record<string, string>;
  /** Names of secrets, which it reads from /run/secrets/NAME; for operators. */
  secrets?: string[];
  network?: NetworkRequest;
  memory_mb?: number;
  cpu_shares?: number;
  storage_mb?: number;
  max_processes?: number;
  idle_timeout_seconds?: number;
}

/** A .tar.gz, a package of the configured registries, or a server that runs elsewhere. */
export type ServerSource =
  | { kind: "archive"; data: FileBody }
  | { kind: "npm" | "pypi"; package: string; version?: string }
  | { kind: "remote"; url: string };

export interface DeployServer extends ServerSettings {
  source: ServerSource;
  /** Name of the server. An existing one gets a new version. */
  name?: string;
  /** Builds again what is built already. */
  rebuild?: boolean;
}

export interface ServerInfo {
  id: string;
  name: string;
  namespace: string;
  /** URL for MCP clients. */
  endpoint: string;
  state: "stopped" | "starting" | "running" | "stopping" | "crash_loop";
  /** Version that answers calls; null until one has passed its check. */
  current: number | null;
  newest: number;
  instances: number;
  started_at: string | null;
  /** End of its output, if it is in a crash loop. */
  failure: string | null;
  cpu_ms: number;
  memory_mb: number;
  calls: { count: number; errors: number; p50_ms: number | null; p95_ms: number | null; p99_ms: number | null };
  config: Required<Omit<ServerSettings, "env">> & {
    env_names: string[];
    /** Null for keys without the scope `use`. */
    env: Record<string, string> | null;
  };
  created_at: string;
  created_by: string;
}

export interface ServerVersionInfo {
  number: number;
  state: "building" | "checking" | "ready" | "failed";
  step: string | null;
  error: string | null;
  /** True: it runs without secrets until an operator confirms it. */
  held: boolean;
  source: {
    kind: "archive" | "npm" | "pypi" | "remote";
    package: string | null;
    version: string | null;
    url: string | null;
  };
  source_digest: string;
  inputs_digest: string;
  image: string | null;
  bytes: number;
  command: string[];
  contact: {
    transport: "http" | "stdio";
    era: "legacy" | "modern";
    protocol_version: string;
    path: string;
    tools: number;
  } | null;
  /** Number of packages that the build installed. */
  packages: number;
  /** True if a rollback can restore its /data. */
  has_data: boolean;
  created_at: string;
  created_by: string;
}

export interface ServerVersionDetail extends ServerVersionInfo {
  resolved: { manager: string; name: string; version: string; sha256: string | null; claimed: boolean }[];
}

export interface DeployedServer {
  server: ServerInfo;
  version: ServerVersionInfo;
}

export type ServerBuildMessage =
  | { type: "step"; step: string }
  | { type: "log"; data: string }
  | { type: "end"; state: ServerVersionInfo["state"]; step: string | null; error: string | null };

export interface ServerVersionDifference {
  field: string;
  from: string;
  to: string;
}

type LogMessage = { type: "log"; data: string } | { type: "end" };

const path = "/api/v1/servers";
const at = (server: string) => `${path}/${encodeURIComponent(server)}`;
const versionAt = (server: string, version: number) => `${at(server)}/versions/${version}`;

/** MCP servers that the daemon hosts, each in a sandbox of its own. One is named by its id or name. */
export class Servers {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Answers when the build has begun: `buildLog` shows the rest. */
  deploy({ source, name, rebuild, ...settings }: DeployServer): Promise<DeployedServer> {
    const request = { ...settings, ...(rebuild === undefined ? {} : { rebuild }) };
    const named = name === undefined ? {} : { name };
    if (source.kind !== "archive")
      return this.#transport.json("POST", path, { json: { ...named, source, ...request }, timeoutMs: null });
    const query = { ...named, config: JSON.stringify(request) };
    const headers = { "content-type": "application/gzip" };
    return this.#transport.json("POST", path, { query, body: source.data, headers, timeoutMs: null });
  }

  /** Steps and output of a build, and how it ended as the last. */
  buildLog(server: string, version: number, options: LiveOptions = {}): AsyncGenerator<ServerBuildMessage, void> {
    return readLive(this.#transport, "GET", `${versionAt(server, version)}/log`, options, "end");
  }

  list(): Promise<ServerInfo[]> {
    return this.#transport.json("GET", path);
  }

  get(server: string): Promise<ServerInfo> {
    return this.#transport.json("GET", at(server));
  }

  /** `restarted`: its sandboxes were stopped, since these settings count from the next start. */
  change(server: string, settings: ServerSettings): Promise<ServerInfo & { restarted: boolean }> {
    return this.#transport.json("PATCH", at(server), { json: settings });
  }

  /** Its output, oldest first; with `follow` until the loop is left. */
  async *logs(server: string, { follow = false, ...options }: LiveOptions & { follow?: boolean } = {}) {
    const call = { query: { follow }, ...options };
    for await (const one of readLive<LogMessage>(this.#transport, "GET", `${at(server)}/logs`, call, "end"))
      if (one.type === "log") yield one.data;
  }

  restart(server: string): Promise<ServerInfo> {
    return this.#transport.json("POST", `${at(server)}/restart`, { timeoutMs: null });
  }

  /** The next call starts it. */
  stop(server: string): Promise<ServerInfo> {
    return this.#transport.json("POST", `${at(server)}/stop`, { timeoutMs: null });
  }

  /** With its versions, its /data and its log. */
  async delete(server: string): Promise<void> {
    await this.#transport.json("DELETE", at(server), { timeoutMs: null });
  }

  versions(server: string): Promise<ServerVersionInfo[]> {
    return this.#transport.json("GET", `${at(server)}/versions`);
  }

  version(server: string, version: number): Promise<ServerVersionDetail> {
    return this.#transport.json("GET", versionAt(server, version));
  }

  diff(server: string, from: number, to: number): Promise<ServerVersionDifference[]> {
    return this.#transport.json("GET", `${at(server)}/diff`, { query: { from, to } });
  }

  /** Switches back to an older version; `data: true` also restores its /data. */
  rollback(server: string, version: number, { data = false }: { data?: boolean } = {}): Promise<ServerVersionInfo> {
    return this.#transport.json("POST", `${versionAt(server, version)}/rollback`, { json: { data }, timeoutMs: null });
  }

  /** Confirms a held version: from then on it runs with the server's secrets. */
  confirm(server: string, version: number): Promise<ServerVersionInfo> {
    return this.#transport.json("POST", `${versionAt(server, version)}/confirm`, { timeoutMs: null });
  }

  /** Lists its tools, as an MCP client of its endpoint. */
  async tools(server: string, options: ToolOptions = {}): Promise<ServerTool[]> {
    return withServer(this.#transport, await this.#idOf(server), options, (session) => session.tools());
  }

  /** Calls a tool, as an MCP client of its endpoint. */
  async call(
    server: string,
    tool: string,
    input: Readonly<Record<string, unknown>> = {},
    options: ToolOptions = {},
  ): Promise<ServerToolResult> {
    return withServer(this.#transport, await this.#idOf(server), options, (session) => session.call(tool, input));
  }

  /** The endpoint has the id: a key for one server reaches that and cannot look up a name. */
  async #idOf(server: string): Promise<string> {
    return /^[0-9a-f]{16}$/.test(server) ? server : (await this.get(server)).id;
  }
}

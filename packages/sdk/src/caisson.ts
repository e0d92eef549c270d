import { Approvals } from "./approvals.ts";
import { AuditLog } from "./audit.ts";
import { Checkpoints } from "./checkpoints.ts";
import type { DaemonStats, PoolInfo, QueuedJob, QueueInfo } from "./daemon-info.ts";
import { Egress } from "./egress.ts";
import { type DaemonEvent, type EventOptions, readEvents } from "./events.ts";
import type { Collected } from "./gc.ts";
import { Images } from "./images.ts";
import { KeptArtifacts } from "./kept-artifacts.ts";
import { Keys } from "./keys.ts";
import { McpConnection, type McpOptions } from "./mcp.ts";
import type { RunRecord } from "./run-record.ts";
import { Runs } from "./runs.ts";
import { Sandbox } from "./sandbox.ts";
import type { CreateOptions, ListOptions, SandboxInfo } from "./sandbox-info.ts";
import { Secrets } from "./secrets.ts";
import { Servers } from "./servers.ts";
import { Skills } from "./skills.ts";
import { Snapshots } from "./snapshots.ts";
import { Templates } from "./templates.ts";
import { Tools } from "./tools.ts";
import { type ClientOptions, type Query, Transport } from "./transport.ts";
import { Webhooks } from "./webhooks.ts";

const sandboxes = "/api/v1/sandboxes";

/** A daemon, as the holder of one key sees it. */
export class Caisson {
  readonly approvals: Approvals;
  readonly keys: Keys;
  readonly skills: Skills;
  readonly images: Images;
  readonly templates: Templates;
  readonly snapshots: Snapshots;
  readonly checkpoints: Checkpoints;
  readonly artifacts: KeptArtifacts;
  readonly secrets: Secrets;
  readonly webhooks: Webhooks;
  readonly runs: Runs;
  readonly audit: AuditLog;
  readonly egress: Egress;
  readonly tools: Tools;
  readonly servers: Servers;
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
    this.approvals = new Approvals(this.#transport);
    this.skills = new Skills(this.#transport);
    this.images = new Images(this.#transport);
    this.templates = new Templates(this.#transport);
    this.snapshots = new Snapshots(this.#transport);
    this.checkpoints = new Checkpoints(this.#transport);
    this.artifacts = new KeptArtifacts(this.#transport);
    this.keys = new Keys(this.#transport);
    this.secrets = new Secrets(this.#transport);
    this.webhooks = new Webhooks(this.#transport);
    this.runs = new Runs(this.#transport);
    this.audit = new AuditLog(this.#transport);
    this.egress = new Egress(this.#transport);
    this.tools = new Tools(this.#transport);
    this.servers = new Servers(this.#transport);
  }

  /** A new sandbox, or the one that this session_key has. A repetition after a broken connection makes no second one. */
  async createSandbox(options: CreateOptions = {}, { signal }: { signal?: AbortSignal } = {}): Promise<Sandbox> {
    const call = { json: options, idempotencyKey: crypto.randomUUID(), ...(signal === undefined ? {} : { signal }) };
    return new Sandbox(this.#transport, await this.#transport.json<SandboxInfo>("POST", sandboxes, call));
  }

  async getSandbox(id: string): Promise<Sandbox> {
    const info = await this.#transport.json<SandboxInfo>("GET", `${sandboxes}/${encodeURIComponent(id)}`);
    return new Sandbox(this.#transport, info);
  }

  /** All of them, newest first, page by page as the loop goes on. */
  async *listSandboxes(options: ListOptions = {}): AsyncGenerator<Sandbox, void> {
    for await (const info of this.#pages<SandboxInfo>(sandboxes, { ...options }))
      yield new Sandbox(this.#transport, info);
  }

  /** Records of what was run in a sandbox, newest first, likewise; also of one that is destroyed, as long as they are kept. */
  listRuns(sandboxId: string, options: { limit?: number } = {}): AsyncGenerator<RunRecord, void> {
    return this.#pages(`${sandboxes}/${encodeURIComponent(sandboxId)}/runs`, { ...options });
  }

  async *#pages<T>(path: string, options: Query): AsyncGenerator<T, void> {
    for (let cursor: string | undefined; ; ) {
      const response = await this.#transport.send("GET", path, { query: { ...options, cursor } });
      yield* (await response.json()) as T[];
      cursor = nextCursor(response.headers.get("link"));
      if (cursor === undefined) return;
    }
  }

  /** Follows events of the namespace from now on, until the loop is left. */
  events(options: EventOptions = {}): AsyncGenerator<DaemonEvent, void> {
    return readEvents(this.#transport, options);
  }

  /** The daemon's MCP server, for a program that speaks the protocol itself. */
  mcp(options: McpOptions): McpConnection {
    return new McpConnection(this.#transport, options);
  }

  stats(): Promise<DaemonStats> {
    return this.#transport.json("GET", "/api/v1/stats");
  }

  queue(): Promise<QueueInfo> {
    return this.#transport.json("GET", "/api/v1/queue");
  }

  /** Cancels a waiting job; its caller gets an error. A job that has begun is not found. */
  cancelJob(id: string): Promise<QueuedJob> {
    return this.#transport.json("DELETE", `/api/v1/queue/${encodeURIComponent(id)}`);
  }

  pools(): Promise<PoolInfo[]> {
    return this.#transport.json("GET", "/api/v1/pool");
  }

  /** Reports used space, unused items, and what a collection would free; for administrators. */
  gcPreview(): Promise<Collected> {
    return this.#transport.json("GET", "/api/v1/gc", { timeoutMs: null });
  }

  /** Removes what nothing uses any more, of all namespaces; likewise. */
  gc(options: { dry_run?: boolean; cache?: boolean } = {}): Promise<Collected> {
    return this.#transport.json("POST", "/api/v1/gc", { json: options, timeoutMs: null });
  }

  /** Returns the ranges of limits that a request may set. */
  limits(): Promise<Record<string, { default: number; min: number; max: number }>> {
    return this.#transport.json("GET", "/api/v1/limits");
  }

  config(): Promise<{ name: string; value: unknown; origin: string }[]> {
    return this.#transport.json("GET", "/api/v1/config");
  }
}

function nextCursor(link: string | null): string | undefined {
  const path = /<([^>]*)>;\s*rel="next"/.exec(link ?? "")?.[1];
  if (path === undefined) return undefined;
  return new URL(path, "http://daemon").searchParams.get("cursor") ?? undefined;
}

import { randomBytes } from "node:crypto";
import { AppError } from "../../packages/server/src/core/errors.ts";
import type { Caller } from "../../packages/server/src/core/principal.ts";
import { requireScope } from "../../packages/server/src/core/scope.ts";
import type {
  ArchiveBody,
  BuildMessage,
  DeployRequest,
  HostedServers,
  ServerConfig,
  ServerRecord,
  ServerState,
  ServerVersion,
} from "../../packages/server/src/core/server.ts";

interface Held {
  record: ServerRecord;
  versions: ServerVersion[];
  state: ServerState;
  lines: string[];
}

const usual: ServerConfig = {
  ...{ command: null, port: 8_000, image: "mcp-runtime", env: {}, secrets: [], network: {}, limits: {} },
  idleTimeoutMs: 300_000,
};

/** Hosted servers without code: every build ends at once. For the doors alone. */
export class MemoryServers implements HostedServers {
  readonly #held: Held[] = [];
  /** Uploads as they came, by server. */
  readonly uploads = new Map<string, Buffer>();
  readonly requests: DeployRequest[] = [];

  async deploy(caller: Caller, request: DeployRequest, archive?: ArchiveBody) {
    this.requests.push(request);
    const { namespace, id: createdBy } = caller.principal;
    const { source, config } = request;
    if (config.secrets !== undefined) requireScope(caller.principal, "operate");
    const name = request.name ?? ("package" in source ? source.package.replace(/^.*\//, "") : "server");
    let held = this.#held.find(({ record }) => record.name === name && record.namespace === namespace);
    if (held === undefined) {
      const ids = { id: randomBytes(8).toString("hex"), name, namespace, createdBy, createdAtMs: Date.now() };
      const record: ServerRecord = { ...ids, config: usual, current: null, newest: 0, savedSnapshotId: null };
      held = { record, versions: [], state: "stopped", lines: ["first line\n", "second \u001b[2Jline\n"] };
      this.#held.unshift(held);
    }
    const pieces: Uint8Array[] = [];
    for await (const piece of archive ?? []) pieces.push(piece);
    if (archive !== undefined) this.uploads.set(held.record.id, Buffer.concat(pieces));
    const number = held.record.newest + 1;
    const version = versionOf(held.record.id, number, source, createdBy);
    held.versions.unshift(version);
    held.record = {
      ...held.record,
      config: { ...held.record.config, ...config, limits: { ...held.record.config.limits, ...config.limits } },
      ...{ newest: number, current: version.state === "ready" ? number : held.record.current },
    };
    return { server: held.record, version };
  }

  async *buildLog(caller: Caller, server: string, number: number): AsyncIterable<BuildMessage> {
    const { state, step, error } = this.#version(caller, server, number);
    yield { type: "step", step: "install" };
    yield { type: "log", data: "Collecting mcp\n" };
    yield { type: "end", state, step, error };
  }

  async list({ principal }: Caller) {
    return this.#held.map(({ record }) => record).filter(({ namespace }) => namespace === principal.namespace);
  }

  async get(caller: Caller, server: string) {
    return this.#find(caller, server).record;
  }

  async status(caller: Caller, server: string) {
    const { state } = this.#find(caller, server);
    const instances = state === "running" ? 1 : 0;
    return { state, instances, startedAtMs: instances === 0 ? null : 1_000, failure: null, cpuMs: 0, memoryBytes: 0 };
  }

  async change(caller: Caller, server: string, config: Partial<ServerConfig>) {
    const held = this.#find(caller, server);
    if (config.secrets !== undefined) requireScope(caller.principal, "operate");
    const limits = { ...held.record.config.limits, ...config.limits };
    held.record = { ...held.record, config: { ...held.record.config, ...config, limits } };
    return { server: held.record, restarted: config.env !== undefined };
  }

  async *logs(caller: Caller, server: string, { follow, gone }: { follow: boolean; gone: AbortSignal }) {
    yield* this.#find(caller, server).lines;
    if (follow && !gone.aborted) await new Promise((resolve) => gone.addEventListener("abort", resolve));
  }

  async restart(caller: Caller, server: string) {
    this.#find(caller, server).state = "running";
  }

  async stop(caller: Caller, server: string) {
    this.#find(caller, server).state = "stopped";
  }

  async delete(caller: Caller, server: string) {
    this.#held.splice(this.#held.indexOf(this.#find(caller, server)), 1);
  }

  async versions(caller: Caller, server: string) {
    return this.#find(caller, server).versions;
  }

  async version(caller: Caller, server: string, number: number) {
    return this.#version(caller, server, number);
  }

  async diff(caller: Caller, server: string, from: number, to: number) {
    const [one, other] = [this.#version(caller, server, from), this.#version(caller, server, to)];
    return [{ field: "source", from: one.sourceDigest, to: other.sourceDigest }];
  }

  async rollback(caller: Caller, server: string, number: number) {
    const version = this.#version(caller, server, number);
    const held = this.#find(caller, server);
    held.record = { ...held.record, current: number };
    return version;
  }

  async confirm(caller: Caller, server: string, number: number) {
    const version = this.#version(caller, server, number);
    version.held = false;
    return version;
  }

  #find({ principal }: Caller, server: string): Held {
    const found = this.#held.find(
      ({ record: { id, name, namespace } }) => namespace === principal.namespace && (id === server || name === server),
    );
    if (found === undefined) throw new AppError("not_found", `unknown server '${server}'`);
    return found;
  }

  #version(caller: Caller, server: string, number: number): ServerVersion {
    const found = this.#find(caller, server).versions.find((one) => one.number === number);
    if (found === undefined) throw new AppError("not_found", `server ${server} has no version ${number}`);
    return found;
  }
}

/** A package of this name does not build. */
export const brokenPackage = "broken";

function versionOf(
  serverId: string,
  number: number,
  source: DeployRequest["source"],
  createdBy: string,
): ServerVersion {
  const isBroken = "package" in source && source.package === brokenPackage;
  return {
    ...{ serverId, number, source, createdBy, createdAtMs: Date.now() },
    ...(isBroken
      ? { state: "failed", step: "install", error: "install: no such package: \u001b[31mbroken" }
      : { state: "ready", step: null, error: null }),
    ...{ held: true, sourceDigest: `digest-${number}`, inputsDigest: "i", bytes: 1, command: ["python", "server.py"] },
    ...{ image: { name: "mcp-runtime", layerId: null }, layerId: null, dataSnapshotId: null },
    contact: { transport: "http", era: "legacy", protocolVersion: "2025-11-25", path: "/mcp", tools: 1 },
    packages: [{ manager: "pip", name: "mcp", version: "1.0.0", sha256: null, claimed: true }],
  };
}

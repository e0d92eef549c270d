import { join } from "node:path";
import type { LoadOptions } from "../core/checkpoint.ts";
import type {
  AttachedSandbox,
  CopiedOutput,
  CreatedSandbox,
  DiskListener,
  Engine,
  EngineName,
  OutputTarget,
  SandboxLimits,
  SandboxSpec,
  StartOptions,
} from "../core/engine.ts";
import { AppError } from "../core/errors.ts";
import type { FreezeOptions, LayerId, LayerInfo } from "../core/layer.ts";
import type { FileEvent, FileWatch } from "../core/watch.ts";
import type { EngineClient } from "./client.ts";
import { ownersPaths } from "./oci/sandbox-folder.ts";

/** An engine of the process at the other end of the socket. */
export class RemoteEngine implements Engine {
  readonly name: EngineName;
  readonly #client: EngineClient;

  // Verbs that take and return what the engine does.
  readonly pause = (id: string) => this.#client.request("pause", this.#of(id));
  readonly resume = (id: string) => this.#client.request("resume", this.#of(id));
  readonly stats = (id: string) => this.#client.request("stats", this.#of(id));
  readonly oomKills = (id: string) => this.#client.request("oomKills", this.#of(id));
  readonly markFiles = (id: string) => this.#client.request("markFiles", this.#of(id));
  readonly changedFiles = (id: string) => this.#client.request("changedFiles", this.#of(id));
  readonly checkpoint = (id: string) => this.#client.request("checkpoint", this.#of(id));
  readonly restore = (id: string, checkpoint: string) =>
    this.#client.request("restore", { ...this.#of(id), checkpoint });
  readonly updateLimits = (id: string, limits: SandboxLimits) =>
    this.#client.request("updateLimits", { ...this.#of(id), limits });
  readonly diskRoom = () => this.#client.request("diskRoom", { engine: this.name });
  readonly layers = () => this.#client.request("layers", { engine: this.name });
  readonly checkpoints = () => this.#client.request("checkpoints", { engine: this.name });
  readonly removeLayer = (layer: LayerId) => this.#client.request("removeLayer", { engine: this.name, layer });
  readonly releaseLayer = (layer: LayerId) => this.#client.request("releaseLayer", { engine: this.name, layer });
  readonly restLayer = (layer: LayerId) => this.#client.request("restLayer", { engine: this.name, layer });
  readonly forgetCheckpoint = (checkpoint: string) =>
    this.#client.request("forgetCheckpoint", { engine: this.name, checkpoint });
  readonly removeCheckpoint = (checkpoint: string) =>
    this.#client.request("removeCheckpoint", { engine: this.name, checkpoint });

  constructor(client: EngineClient, name: EngineName) {
    this.#client = client;
    this.name = name;
  }

  async create({ inputFolder, ...spec }: SandboxSpec): Promise<CreatedSandbox> {
    if (inputFolder !== undefined) throw noPath();
    const created = await this.#client.request("create", { engine: this.name, spec }, (made) => this.#client.own(made));
    return { ...created, ...this.#paths(created.id) };
  }

  async attach(id: string): Promise<AttachedSandbox> {
    const attached = await this.#client.request("attach", this.#of(id), (found) => this.#client.own(found));
    return { ...attached, ...this.#paths(id) };
  }

  async detach(id: string): Promise<void> {
    await this.#client.request("detach", this.#of(id));
    this.#client.disown(id, "the sandbox was left to itself");
  }

  async stop(id: string): Promise<void> {
    await this.#client.request("stop", this.#of(id));
    this.#client.disown(id, "the sandbox was stopped");
  }

  async start(id: string, options: StartOptions = {}): Promise<CreatedSandbox> {
    const args = { ...this.#of(id), options };
    const started = await this.#client.request("start", args, (made) => this.#client.own(made));
    return { ...started, ...this.#paths(id) };
  }

  async reset(id: string): Promise<void> {
    await this.#client.request("reset", this.#of(id));
    this.#client.disown(id, "the sandbox was stopped");
  }

  async freeze(id: string, options: FreezeOptions): Promise<LayerInfo> {
    const layer = await this.#client.request("freeze", { ...this.#of(id), options });
    if (options.copy !== true) this.#client.disown(id, "the sandbox was frozen");
    return layer;
  }

  async waitExit(id: string): Promise<string> {
    return this.#client.owned(id).exit.promise;
  }

  watchDisk(id: string, told: DiskListener): void {
    this.#client.owned(id).disk = told;
  }

  async copyOutput(id: string, to: OutputTarget): Promise<CopiedOutput> {
    if ("path" in to) throw noPath();
    return this.#client.request("copyOutput", { ...this.#of(id), folder: to.folder });
  }

  async watchFiles(id: string): Promise<FileWatch> {
    return new RemoteWatch(this.#client, await this.#client.request("watchFiles", this.#of(id)));
  }

  async destroy(id: string): Promise<void> {
    await this.#client.request("destroy", this.#of(id));
    this.#client.disown(id, "the sandbox was destroyed");
  }

  async destroyKept(id: string): Promise<void> {
    await this.#client.request("destroyKept", this.#of(id));
    this.#client.disown(id, "the sandbox was destroyed");
  }

  async createFrom(checkpoint: string): Promise<CreatedSandbox> {
    const args = { engine: this.name, checkpoint };
    const created = await this.#client.request("createFrom", args, (made) => this.#client.own(made));
    return { ...created, ...this.#paths(created.id) };
  }

  async keepCheckpoint(checkpoint: string, key: Buffer): Promise<void> {
    await this.#client.request("keepCheckpoint", { engine: this.name, checkpoint, key: key.toString("hex") });
  }

  async loadCheckpoint(checkpoint: string, key: Buffer, options: LoadOptions = {}): Promise<void> {
    const args = { engine: this.name, checkpoint, key: key.toString("hex"), options };
    await this.#client.request("loadCheckpoint", args);
  }

  /** The connection is the client's. */
  async [Symbol.asyncDispose](): Promise<void> {}

  #of(id: string) {
    return { engine: this.name, id };
  }

  #paths(id: string) {
    return ownersPaths(join(this.#client.sandboxes, id));
  }
}

function noPath(): AppError {
  return new AppError("unsupported", "a daemon's engine does not accept folders of the host by path");
}

class RemoteWatch implements FileWatch {
  readonly #client: EngineClient;
  readonly #watch: number;
  #closed: Promise<void> | undefined;

  constructor(client: EngineClient, watch: number) {
    this.#client = client;
    this.#watch = watch;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<FileEvent, void> {
    try {
      for (let ended = false; !ended && this.#closed === undefined; ) {
        const answer = await this.#client.request("watchNext", { watch: this.#watch }).catch((error: unknown) => {
          if (this.#closed !== undefined) return { events: [], ended: true };
          throw error;
        });
        yield* answer.events;
        ended = answer.ended;
      }
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#client.request("watchClose", { watch: this.#watch }).then(
      () => undefined,
      () => undefined, // a lost engine watches nothing
    );
    return this.#closed;
  }
}

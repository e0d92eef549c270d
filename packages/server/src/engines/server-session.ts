import type { Socket } from "node:net";
import type { CreatedSandbox, DiskNews, Engine, EngineName } from "../core/engine.ts";
import type { EngineSource } from "../core/engine-source.ts";
import { AppError } from "../core/errors.ts";
import { jsonLimits } from "../core/json-limits.ts";
import { LineReader } from "../core/line-reader.ts";
import { parseJson } from "../core/parse-json.ts";
import { matching, shape, within } from "../core/shape.ts";
import { engineSocketLimits } from "./limits.ts";
import {
  argumentChecks,
  describeError,
  type FromEngine,
  protocolVersion,
  type Verb,
  type VerbArguments,
  type VerbResult,
} from "./protocol.ts";
import { type ServerFolders, withFolder } from "./server-folders.ts";
import { ServerWatches } from "./server-watches.ts";

const number = within({ default: 1, min: 1, max: Number.MAX_SAFE_INTEGER });
const request = shape<{ n: number; verb: string; args: unknown }>({
  n: number,
  verb: matching(/^[a-zA-Z]{1,32}$/),
  args: (value) => value,
});
const answer = shape<{ answer: number }>({ answer: number });

/** Verbs after which the daemon owns the sandbox that they return. */
const owning: ReadonlySet<string> = new Set<Verb>(["create", "createFrom", "attach", "start"]);

/**
 * One daemon, from its connection to its end. Everything it says is checked against the list of verbs; what it created
 * and kept is left to the next daemon when it ends, however it ends, and everything else of it is destroyed (S22).
 */
export class ServerSession {
  readonly ended: Promise<void>;
  readonly #socket: Socket;
  readonly #engines: EngineSource;
  readonly #folders: ServerFolders;
  readonly #onError: (error: unknown) => void;
  readonly #reader = new LineReader(engineSocketLimits.requestBytes);
  readonly #watches = new ServerWatches();
  readonly #underWay = new Set<Promise<void>>();
  readonly #asked = new Map<number, () => void>();
  #lastAsked = 0;
  #waits = false;
  #closed = false;

  constructor(socket: Socket, engines: EngineSource, folders: ServerFolders, onError: (error: unknown) => void) {
    this.#socket = socket;
    this.#engines = engines;
    this.#folders = folders;
    this.#onError = onError;
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    this.ended = closed.then(() => this.#leave());
    socket.on("data", (chunk) => {
      this.#reader.push(chunk);
      this.#read();
    });
    socket.on("drain", () => this.#goOn());
    this.#send({ hello: protocolVersion });
  }

  /** Takes what has come, as long as there is room for the work and the answers. */
  #read(): void {
    try {
      while (!this.#closed) {
        if (this.#underWay.size >= engineSocketLimits.inFlight || this.#isBehind()) {
          this.#waits = true;
          this.#socket.pause();
          return;
        }
        const line = this.#reader.next();
        if (line === undefined) return;
        this.#take(line);
      }
    } catch (error) {
      this.#onError(error);
      this.#socket.destroy();
    }
  }

  #goOn(): void {
    if (!this.#waits || this.#closed || this.#isBehind()) return;
    this.#waits = false;
    this.#read();
    if (!this.#waits) this.#socket.resume();
  }

  #isBehind(): boolean {
    return this.#socket.writableLength > engineSocketLimits.queuedBytes;
  }

  /** Handles one line. An invalid message ends the connection; a message with wrong arguments gets an error. */
  #take(line: string): void {
    const message = parse(line);
    if (typeof message === "object" && message !== null && Object.hasOwn(message, "answer")) {
      this.#asked.get(answer(message, "the answer").answer)?.();
      return;
    }
    const { n, verb, args } = request(message, "the message");
    // A read of a watch may wait for ever: each watch has one at most, and there are few.
    const work = this.#act(n, verb, args);
    if (verb === "watchNext") return;
    this.#underWay.add(work);
    void work.then(() => {
      this.#underWay.delete(work);
      this.#goOn();
    });
  }

  async #act(n: number, verb: string, args: unknown): Promise<void> {
    let ok: unknown;
    try {
      if (!Object.hasOwn(argumentChecks, verb)) throw new AppError("unsupported", "unknown verb");
      ok = await this.#do(verb as Verb, args);
    } catch (error) {
      if (!(error instanceof AppError)) this.#onError(error);
      this.#send({ n, error: describeError(error) });
      return;
    }
    this.#send({ n, ok: ok ?? null });
    if (owning.has(verb)) await this.#follow(ok as CreatedSandbox);
  }

  #do<V extends Verb>(verb: V, args: unknown): Promise<VerbResult<V>> {
    return this.#verbs[verb](argumentChecks[verb](args, "args"));
  }

  readonly #verbs: { [V in Verb]: (args: VerbArguments<V>) => Promise<VerbResult<V>> } = {
    choose: ({ choice }) => this.#engines.choose(choice),
    kept: () => this.#engines.kept(),
    engineOfKept: async ({ id }) => (await this.#engines.engineOfKept(id)) ?? null,
    searchPath: () => this.#engines.searchPath(),
    probe: () => this.#engines.probe(),
    checkHost: () => this.#engines.checkHost(),
    create: async ({ engine, spec }) => withoutPaths(await this.#create(await this.#open(engine), spec)),
    attach: async ({ engine, id }) => withoutPaths(await (await this.#open(engine)).attach(id)),
    detach: async ({ engine, id }) => nothing((await this.#open(engine)).detach(id)),
    stop: async ({ engine, id }) => nothing((await this.#open(engine)).stop(id)),
    start: async ({ engine, id, options }) => withoutPaths(await (await this.#open(engine)).start(id, options)),
    reset: async ({ engine, id }) => nothing((await this.#open(engine)).reset(id)),
    freeze: async ({ engine, id, options }) => (await this.#open(engine)).freeze(id, options),
    diskRoom: async ({ engine }) => (await this.#open(engine)).diskRoom(),
    layers: async ({ engine }) => (await this.#open(engine)).layers(),
    removeLayer: async ({ engine, layer }) => nothing((await this.#open(engine)).removeLayer(layer)),
    releaseLayer: async ({ engine, layer }) => nothing((await this.#open(engine)).releaseLayer(layer)),
    pause: async ({ engine, id }) => nothing((await this.#open(engine)).pause(id)),
    resume: async ({ engine, id }) => nothing((await this.#open(engine)).resume(id)),
    updateLimits: async ({ engine, id, limits }) => nothing((await this.#open(engine)).updateLimits(id, limits)),
    stats: async ({ engine, id }) => (await this.#open(engine)).stats(id),
    oomKills: async ({ engine, id }) => (await this.#open(engine)).oomKills(id),
    markFiles: async ({ engine, id }) => nothing((await this.#open(engine)).markFiles(id)),
    changedFiles: async ({ engine, id }) => (await this.#open(engine)).changedFiles(id),
    destroy: async ({ engine, id }) => nothing((await this.#open(engine)).destroy(id)),
    destroyKept: async ({ engine, id }) => nothing((await this.#open(engine)).destroyKept(id)),
    checkpoint: async ({ engine, id }) => (await this.#open(engine)).checkpoint(id),
    restore: async ({ engine, id, checkpoint }) => nothing((await this.#open(engine)).restore(id, checkpoint)),
    createFrom: async ({ engine, checkpoint }) => withoutPaths(await (await this.#open(engine)).createFrom(checkpoint)),
    forgetCheckpoint: async ({ engine, checkpoint }) =>
      nothing((await this.#open(engine)).forgetCheckpoint(checkpoint)),
    keepCheckpoint: async ({ engine, checkpoint, key }) =>
      nothing((await this.#open(engine)).keepCheckpoint(checkpoint, Buffer.from(key, "hex"))),
    loadCheckpoint: async ({ engine, checkpoint, key, options }) =>
      nothing((await this.#open(engine)).loadCheckpoint(checkpoint, Buffer.from(key, "hex"), options)),
    removeCheckpoint: async ({ engine, checkpoint }) =>
      nothing((await this.#open(engine)).removeCheckpoint(checkpoint)),
    checkpoints: async ({ engine }) => (await this.#open(engine)).checkpoints(),
    copyOutput: async ({ engine, id, folder }) => {
      const opened = await this.#open(engine);
      return withFolder(this.#folders, "output", folder, (path) => opened.copyOutput(id, { path }));
    },
    watchFiles: async ({ engine, id }) => this.#watches.add(await (await this.#open(engine)).watchFiles(id)),
    watchNext: ({ watch }) => this.#watches.next(watch),
    watchClose: ({ watch }) => nothing(this.#watches.close(watch)),
  };

  async #create(
    engine: Engine,
    { folder, outputFolder, ...spec }: VerbArguments<"create">["spec"],
  ): Promise<CreatedSandbox> {
    if (outputFolder !== undefined) await withFolder(this.#folders, "output", outputFolder, async () => undefined);
    if (folder === undefined) return engine.create(spec);
    return withFolder(this.#folders, "input", folder, (inputFolder) => engine.create({ ...spec, inputFolder }));
  }

  #open(name: EngineName): Promise<Engine> {
    return this.#engines.open(name);
  }

  /** After the answer that names it, so that the daemon knows of what it hears. */
  async #follow({ engine, id }: CreatedSandbox): Promise<void> {
    const opened = await this.#open(engine);
    try {
      opened.watchDisk(id, (news) => this.#tellDisk(id, news));
    } catch {
      return; // destroyed or left meanwhile
    }
    opened.waitExit(id).then(
      (reason) => this.#send({ exit: id, reason }),
      (error: unknown) => this.#send({ exit: id, error: describeError(error) }),
    );
  }

  /** A daemon that does not answer holds up the disk's guard for a moment, and no longer. */
  async #tellDisk(id: string, news: DiskNews): Promise<void> {
    if (this.#closed) return;
    const disk = ++this.#lastAsked;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, engineSocketLimits.diskAnswerMs);
      this.#asked.set(disk, () => {
        clearTimeout(timer);
        resolve();
      });
      this.#send({ disk, id, news });
    });
    this.#asked.delete(disk);
  }

  #send(message: FromEngine): void {
    if (!this.#closed && this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  async #leave(): Promise<void> {
    this.#closed = true;
    for (const done of this.#asked.values()) done();
    await this.#watches.closeAll();
    await Promise.allSettled(this.#underWay);
    await this.#watches.closeAll();
    await this.#engines[Symbol.asyncDispose]();
  }
}

function withoutPaths<S extends CreatedSandbox>(created: S) {
  const { toGuestPath: _to, fromGuestPath: _from, ownerFolder: _owner, ...rest } = created;
  return rest;
}

async function nothing(done: Promise<void>): Promise<null> {
  await done;
  return null;
}

function parse(line: string): unknown {
  try {
    return parseJson(line, jsonLimits.request);
  } catch (cause) {
    throw new AppError("invalid", "a message is not JSON", { cause });
  }
}

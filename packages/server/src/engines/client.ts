import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Check } from "../core/diagnosis.ts";
import type {
  CreatedSandbox,
  DiskListener,
  DiskNews,
  Engine,
  EngineName,
  EngineProbe,
  KeptSandbox,
} from "../core/engine.ts";
import type { EngineSource } from "../core/engine-source.ts";
import { AppError } from "../core/errors.ts";
import { LineReader } from "../core/line-reader.ts";
import type { EngineChoice } from "../core/request.ts";
import { Once } from "../lib/once.ts";
import { engineSocketLimits } from "./limits.ts";
import { errorOf, type FromEngine, protocolVersion, type ToEngine } from "./protocol.ts";
import { RemoteEngine } from "./remote-engine.ts";
import type { Verb, VerbArguments, VerbResult } from "./verbs.ts";

interface Waiting {
  resolve: (value: never) => void;
  reject: (error: AppError) => void;
  /** Called before anything else is read: what comes next may be news of the sandbox that this answer names. */
  first: ((value: never) => void) | undefined;
}

/** A sandbox that this daemon owns. */
interface Owned {
  exit: PromiseWithResolvers<string>;
  disk: DiskListener;
}

export interface EngineClientOptions {
  path: string;
  /** The engine's folder of sandboxes, as this process sees it. */
  sandboxes: string;
  /** Told of what goes wrong beside a call. */
  onError: (error: unknown) => void;
}

/** The engines of another process. When its socket is lost everything fails with `unavailable`, and nothing waits on. */
export class EngineClient implements EngineSource {
  /** Resolves when the engine cannot be spoken to any more. */
  readonly lost: Promise<AppError>;
  readonly sandboxes: string;
  readonly #lostGate = Promise.withResolvers<AppError>();
  readonly #hello = Promise.withResolvers<void>();
  readonly #socket: Socket;
  readonly #onError: (error: unknown) => void;
  readonly #reader = new LineReader(engineSocketLimits.answerBytes);
  readonly #waiting = new Map<number, Waiting>();
  readonly #owned = new Map<string, Owned>();
  readonly #engines = new Map<EngineName, RemoteEngine>();
  readonly #searchPath = new Once<string>();
  #last = 0;
  #error: AppError | undefined;

  private constructor({ path, sandboxes, onError }: EngineClientOptions) {
    this.sandboxes = sandboxes;
    this.#onError = onError;
    this.lost = this.#lostGate.promise;
    this.#hello.promise.catch(() => undefined);
    this.#socket = connect(path);
    this.#socket.on("error", (cause) => this.#fail(`cannot be reached: ${cause.message}`, cause));
    this.#socket.on("close", () => this.#fail("has closed the connection"));
    this.#socket.on("data", (chunk) => this.#receive(chunk));
  }

  static async connect(options: EngineClientOptions): Promise<EngineClient> {
    const client = new EngineClient(options);
    const timer = setTimeout(() => client.#fail("does not answer"), engineSocketLimits.connectTimeoutMs);
    try {
      await client.#hello.promise;
      return client;
    } finally {
      clearTimeout(timer);
    }
  }

  choose(choice: EngineChoice): Promise<EngineName> {
    return choice === "auto" ? this.request("choose", { choice }) : Promise.resolve(choice);
  }

  async open(name: EngineName): Promise<Engine> {
    const known = this.#engines.get(name) ?? new RemoteEngine(this, name);
    this.#engines.set(name, known);
    return known;
  }

  kept(): Promise<KeptSandbox[]> {
    return this.request("kept", {});
  }

  async engineOfKept(id: string): Promise<EngineName | undefined> {
    return (await this.request("engineOfKept", { id })) ?? undefined;
  }

  searchPath(): Promise<string> {
    return this.#searchPath.get(() => this.request("searchPath", {}));
  }

  probe(): Promise<EngineProbe[]> {
    return this.request("probe", {});
  }

  checkHost(): Promise<Check[]> {
    return this.request("checkHost", {});
  }

  /** Ends the connection: what was kept is left to the next daemon, all else of this one is destroyed. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#socket.closed ? undefined : once(this.#socket, "close");
    this.#fail("is no longer used");
    await closed;
  }

  request<V extends Verb>(
    verb: V,
    args: VerbArguments<V>,
    first?: (value: VerbResult<V>) => void,
  ): Promise<VerbResult<V>> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    const n = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(n, { resolve, reject, first });
      this.#send({ n, verb, args });
    });
  }

  /** From the answer that names it on, until it is destroyed or detached. */
  own({ id }: Pick<CreatedSandbox, "id">): void {
    const exit = Promise.withResolvers<string>();
    exit.promise.catch(() => undefined);
    this.#owned.set(id, { exit, disk: async () => {} });
  }

  owned(id: string): Owned {
    const owned = this.#owned.get(id);
    if (owned === undefined) throw this.#error ?? new AppError("not_found", `unknown sandbox ${id}`);
    return owned;
  }

  disown(id: string, reason: string): void {
    this.#owned.get(id)?.exit.resolve(reason);
    this.#owned.delete(id);
  }

  #receive(chunk: Buffer): void {
    this.#reader.push(chunk);
    try {
      for (let line = this.#reader.next(); line !== undefined; line = this.#reader.next())
        this.#take(JSON.parse(line) as FromEngine);
    } catch (cause) {
      this.#fail("speaks another language", cause);
    }
  }

  #take(message: FromEngine): void {
    if ("n" in message) {
      const waiting = this.#waiting.get(message.n);
      this.#waiting.delete(message.n);
      if ("error" in message) {
        waiting?.reject(errorOf(message.error));
        return;
      }
      waiting?.first?.(message.ok as never);
      waiting?.resolve(message.ok as never);
    } else if ("exit" in message) {
      const exit = this.#owned.get(message.exit)?.exit;
      if ("error" in message) exit?.reject(errorOf(message.error));
      else exit?.resolve(message.reason);
    } else if ("disk" in message) {
      void this.#tellDisk(message.disk, message.id, message.news);
    } else if ("hello" in message) {
      if (message.hello === protocolVersion) this.#hello.resolve();
      else this.#fail(`is of version ${message.hello}, not ${protocolVersion}`);
    } else {
      this.#fail("refuses", errorOf(message.refused), errorOf(message.refused));
    }
  }

  async #tellDisk(number: number, id: string, news: DiskNews): Promise<void> {
    await this.#owned.get(id)?.disk(news).catch(this.#onError);
    if (this.#error === undefined) this.#send({ answer: number });
  }

  #send(message: ToEngine): void {
    this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  #fail(how: string, cause?: unknown, error = new AppError("unavailable", `the engine ${how}`, { cause })): void {
    if (this.#error !== undefined) return;
    this.#error = error;
    this.#socket.destroy();
    this.#hello.reject(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    for (const { exit } of this.#owned.values()) exit.reject(error);
    this.#owned.clear();
    this.#lostGate.resolve(error);
  }
}

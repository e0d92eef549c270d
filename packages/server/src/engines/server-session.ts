import type { Socket } from "node:net";
import type { CreatedSandbox, DiskNews } from "../core/engine.ts";
import type { EngineSource } from "../core/engine-source.ts";
import { AppError } from "../core/errors.ts";
import { jsonLimits } from "../core/json-limits.ts";
import { LineReader } from "../core/line-reader.ts";
import { parseJson } from "../core/parse-json.ts";
import { matching, shape, within } from "../core/shape.ts";
import { engineSocketLimits } from "./limits.ts";
import { describeError, type FromEngine, protocolVersion } from "./protocol.ts";
import type { ServerFolders } from "./server-folders.ts";
import { ServerWatches } from "./server-watches.ts";
import { isVerb, type VerbContext, verbs } from "./verbs.ts";

const number = within({ default: 1, min: 1, max: Number.MAX_SAFE_INTEGER });
const request = shape<{ n: number; verb: string; args: unknown }>({
  n: number,
  verb: matching(/^[a-zA-Z]{1,32}$/),
  args: (value) => value,
});
const answer = shape<{ answer: number }>({ answer: number });

/**
 * One daemon, from its connection to its end. Everything it says is checked against the list of verbs; what it created
 * and kept is left to the next daemon when it ends, however it ends, and everything else of it is destroyed (S22).
 */
export class ServerSession {
  readonly ended: Promise<void>;
  readonly #socket: Socket;
  readonly #context: VerbContext;
  readonly #onError: (error: unknown) => void;
  readonly #reader = new LineReader(engineSocketLimits.requestBytes);
  readonly #underWay = new Set<Promise<void>>();
  readonly #asked = new Map<number, () => void>();
  #lastAsked = 0;
  #waits = false;
  #closed = false;

  constructor(socket: Socket, engines: EngineSource, folders: ServerFolders, onError: (error: unknown) => void) {
    this.#socket = socket;
    this.#context = { engines, folders, watches: new ServerWatches() };
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
      if (!isVerb(verb)) throw new AppError("unsupported", "unknown verb");
      ok = await verbs[verb].run(args, this.#context);
    } catch (error) {
      if (!(error instanceof AppError)) this.#onError(error);
      this.#send({ n, error: describeError(error) });
      return;
    }
    this.#send({ n, ok: ok ?? null });
    if (verbs[verb].owns) await this.#follow(ok as CreatedSandbox);
  }

  /** After the answer that names it, so that the daemon knows of what it hears. */
  async #follow({ engine, id }: CreatedSandbox): Promise<void> {
    const opened = await this.#context.engines.open(engine);
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
    await this.#context.watches.closeAll();
    await Promise.allSettled(this.#underWay);
    await this.#context.watches.closeAll();
    await this.#context.engines[Symbol.asyncDispose]();
  }
}

function parse(line: string): unknown {
  try {
    return parseJson(line, jsonLimits.request);
  } catch (cause) {
    throw new AppError("invalid", "a message is not JSON", { cause });
  }
}

import type { IncomingMessage } from "node:http";
import { type Duplex, Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../core/errors.ts";
import { ask } from "../http-over/ask.ts";
import { decodeMessage } from "./decode.ts";
import { mediaOf, readEvents, readWhole, refusalOf, type StreamEnd } from "./http-answer.ts";
import { gatewayLimits } from "./limits.ts";
import type { Hearer, Line } from "./line.ts";
import { type Id, isAnswer, isRequest, type Message } from "./message.ts";

/** Fields of a request beside those that every one has, by the revision that is spoken. */
export interface Speech {
  fields(message: Message | undefined): readonly string[];
  /** Reads the head of the answer to `initialize`. */
  opened?(headers: IncomingMessage["headers"]): void;
}

interface Way {
  dial: () => Promise<Duplex>;
  host: string;
  path: string;
}

/** The server does not know the session any more: it did not look at the message. */
export class SessionLost extends AppError {
  constructor() {
    super("unavailable", "the server has ended its session; the call was not made", { hint: "call again" });
  }
}

/** The request was sent, and nobody knows how far the server came with it. */
function unknownOutcome(why: unknown, cause = why): AppError {
  const what = typeof why === "string" ? why : "the server broke the connection off";
  return new AppError("unavailable", `${what}; the outcome of the call is unknown`, { cause });
}

/** One request for each message over HTTP, on a connection of its own. */
export class HttpLine implements Line {
  readonly #way: Way;
  readonly #speech: Speech;
  readonly #hearer: Hearer;
  readonly #open = new Set<Duplex>();
  readonly #closed = new AbortController();

  constructor(way: Way, speech: Speech, hearer: Hearer) {
    this.#way = way;
    this.#speech = speech;
    this.#hearer = hearer;
  }

  /** Resolves when the server has answered; a request without an answer fails. */
  async send(message: Message, gone?: AbortSignal): Promise<void> {
    const bytes = Buffer.from(JSON.stringify(message));
    const fields = ["Content-Type", "application/json", "Content-Length", String(bytes.length)];
    const answer = await this.#ask("POST", [...this.#speech.fields(message), ...fields], bytes, gone);
    try {
      if (isRequest(message)) return await this.#readAnswer(answer, message, gone);
      if ((answer.statusCode ?? 0) === 404) throw new SessionLost();
    } catch (error) {
      throw error instanceof AppError ? error : unknownOutcome(error);
    } finally {
      answer.destroy();
    }
  }

  /** Hears what the server says by itself, as long as it has a stream for that. `opened` is called when it has begun. */
  async listen(opened: () => void): Promise<void> {
    let end: StreamEnd | undefined;
    for (let tries = 0; tries <= gatewayLimits.resumes && !this.#closed.signal.aborted; tries++) {
      const before = end?.lastEventId;
      end = await this.#follow(end, undefined, undefined, opened).catch(() => undefined);
      if (end === undefined) return;
      if (end.lastEventId !== before) tries = 0;
      await this.#pause(end);
    }
  }

  /** Ends the session at the server. */
  async end(): Promise<void> {
    const answer = await this.#ask("DELETE", this.#speech.fields(undefined));
    answer.destroy();
  }

  close(): void {
    this.#closed.abort();
    for (const connection of this.#open) connection.destroy();
  }

  async #readAnswer(answer: IncomingMessage, { id, method }: { id: Id; method: string }, gone?: AbortSignal) {
    const { statusCode = 0 } = answer;
    if (statusCode === 404 && this.#speech.opened !== undefined) throw new SessionLost();
    if (statusCode !== 200) return this.#hearer.hear(await refusalOf(answer, id), id);
    if (method === "initialize") this.#speech.opened?.(answer.headers);
    const media = mediaOf(answer);
    if (media === "json") return this.#hearOnly(decodeMessage(await readWhole(answer)), id);
    if (media === "events") return this.#readStream(answer, id, gone);
    throw new AppError("unavailable", "the server's answer is neither JSON nor a stream of events");
  }

  #hearOnly(message: Message, id: Id): void {
    if (!isAnswer(message) || message.id !== id)
      throw new AppError("unavailable", "the server's answer is not to the request that was sent");
    this.#hearer.hear(message, id);
  }

  /** Reads until the answer is there; takes the stream up again where the server ends it before. */
  async #readStream(answer: IncomingMessage, id: Id, gone?: AbortSignal): Promise<void> {
    let isAnswered = false;
    const hear = (message: Message) => {
      isAnswered ||= isAnswer(message) && message.id === id;
      this.#hearer.hear(message, id);
    };
    let end: StreamEnd | undefined = await readEvents(answer, undefined, hear);
    for (let tries = 0; !isAnswered && tries < gatewayLimits.resumes && end?.lastEventId !== undefined; tries++) {
      const before: string = end.lastEventId;
      await this.#pause(end);
      end = await this.#follow(end, hear, gone);
      if (end?.lastEventId !== before) tries = 0;
    }
    if (!isAnswered) throw unknownOutcome("the server ended its answer before the result");
  }

  async #follow(
    from: StreamEnd | undefined,
    hear: ((message: Message) => void) | undefined,
    gone?: AbortSignal,
    opened?: () => void,
  ): Promise<StreamEnd | undefined> {
    const after = from?.lastEventId === undefined ? [] : ["Last-Event-ID", from.lastEventId];
    const answer = await this.#ask("GET", [...this.#speech.fields(undefined), ...after], undefined, gone);
    try {
      opened?.();
      if (answer.statusCode !== 200 || mediaOf(answer) !== "events") return undefined;
      return await readEvents(answer, from, hear ?? ((message) => this.#hearer.hear(message, undefined)));
    } finally {
      answer.destroy();
    }
  }

  async #pause({ retryMs }: StreamEnd): Promise<void> {
    await sleep(retryMs, undefined, { signal: this.#closed.signal, ref: false }).catch(() => undefined);
  }

  async #ask(method: string, fields: readonly string[], body?: Buffer, gone?: AbortSignal): Promise<IncomingMessage> {
    const { dial, host, path } = this.#way;
    const accept = method === "GET" ? "text/event-stream" : "application/json, text/event-stream";
    const connection = await dial().catch((error: unknown) => {
      throw error instanceof AppError
        ? error
        : new AppError("unavailable", "the server cannot be reached", { cause: error });
    });
    const end = () => connection.destroy();
    if (this.#closed.signal.aborted || gone?.aborted) end();
    this.#open.add(connection);
    gone?.addEventListener("abort", end, { once: true });
    connection
      .on("error", () => undefined)
      .once("close", () => {
        this.#open.delete(connection);
        gone?.removeEventListener("abort", end);
      });
    const all = ["Host", host, "Accept", accept, "Connection", "close", ...fields];
    const { headBytes, callMs } = gatewayLimits;
    const asked = { method, path, fields: all, headBytes, answerMs: callMs, peer: "the server" };
    try {
      const answer = await ask(connection, asked, { body: body && Readable.from([body]) });
      answer.once("close", end);
      return answer;
    } catch (error) {
      end();
      throw unknownOutcome(error instanceof AppError ? error.message : "the server gave no answer over HTTP", error);
    }
  }
}

/** The host's process: does what a daemon asks by a closed list of verbs, as far as its own policy goes. */
import type { Duplex } from "node:stream";
import { AppError } from "../core/errors.ts";
import type { HostHand } from "../core/host-access.ts";
import { jsonLimits } from "../core/json-limits.ts";
import { LineReader } from "../core/line-reader.ts";
import { parseJson } from "../core/parse-json.ts";
import { hostLimits } from "./limits.ts";
import { type Gives, type HandVerb, type Takes, toHand, toProblem, verbs } from "./protocol.ts";

export class HandServer {
  /** Resolves when the daemon has left, or says what cannot be read; what runs for it is ended by then. */
  readonly ended: Promise<void>;
  readonly #socket: Duplex;
  readonly #hand: HostHand;
  readonly #onError: (error: unknown) => void;
  readonly #reader = new LineReader(hostLimits.messageBytes);
  readonly #running = new Map<number, AbortController>();

  constructor(socket: Duplex, hand: HostHand, onError: (error: unknown) => void) {
    this.#socket = socket;
    this.#hand = hand;
    this.#onError = onError;
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("error", () => socket.destroy());
    socket.on("end", () => socket.destroy());
    this.ended = new Promise((resolve) => {
      socket.on("close", () => {
        for (const run of this.#running.values()) run.abort();
        resolve();
      });
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#reader.push(chunk);
    try {
      for (let line = this.#reader.next(); line !== undefined; line = this.#reader.next())
        this.#take(parseJson(line, jsonLimits.request));
    } catch (error) {
      this.#onError(error);
      this.#socket.destroy();
    }
  }

  #take(message: unknown): void {
    const read = toHand.parse(message);
    if ("cancel" in read) {
      this.#running.get(read.cancel)?.abort();
      return;
    }
    const { n, verb, args } = read;
    if (this.#running.has(n)) throw new AppError("invalid", "duplicate request number");
    if (this.#running.size >= hostLimits.requests) {
      const error = new AppError("limit_exceeded", "too many requests on the host at once", { retryAfterMs: 1_000 });
      this.#send({ n, error: toProblem(error) });
      return;
    }
    const run = new AbortController();
    this.#running.set(n, run);
    this.#do(verb, args, run.signal)
      .then(
        (ok) => this.#send({ n, ok }),
        (error: unknown) => {
          if (!(error instanceof AppError)) this.#onError(error);
          this.#send({ n, error: toProblem(error) });
        },
      )
      .finally(() => this.#running.delete(n));
  }

  async #do(verb: HandVerb, args: unknown, signal: AbortSignal): Promise<Gives<HandVerb>> {
    switch (verb) {
      case "hello":
        return { version: 1 };
      case "exec": {
        const { argv, timeoutMs, approved } = taken("exec", args);
        return this.#hand.exec(argv, { timeoutMs, signal, ...(approved === undefined ? {} : { approved }) });
      }
      case "read": {
        const { path, offset, length } = taken("read", args);
        const piece = await this.#hand.read(path, { offset, length });
        return { ...piece, bytes: piece.bytes.toString("base64") };
      }
      case "write": {
        const { path, bytes } = taken("write", args);
        return this.#hand.write(path, Buffer.from(bytes, "base64"));
      }
      case "list":
        return this.#hand.list(taken("list", args).path);
    }
  }

  #send(message: object): void {
    if (!this.#socket.destroyed) this.#socket.write(`${JSON.stringify(message)}\n`);
  }
}

function taken<V extends HandVerb>(verb: V, args: unknown): Takes<V> {
  const read = verbs[verb].takes.safeParse(args);
  if (read.success) return read.data as Takes<V>;
  throw new AppError("invalid", `the host's process does not take this ${verb}`);
}

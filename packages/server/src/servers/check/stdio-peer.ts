import type { Readable, Writable } from "node:stream";
import { AppError, messageOf } from "../../core/errors.ts";
import { LineReader } from "../../core/line-reader.ts";
import { randomId } from "../../lib/random-id.ts";
import { serverLimits } from "../limits.ts";
import { type Answer, answerIn, Budget, type Peer } from "./peer.ts";

/** Speaks over standard input and output: a line is a message. */
export class StdioPeer implements Peer {
  readonly #input: Writable;
  readonly #output: Readable;
  readonly #waiting = new Map<string, (answer: Answer) => void>();
  readonly #lost = Promise.withResolvers<never>();

  constructor(input: Writable, output: Readable) {
    this.#input = input;
    this.#output = output;
    this.#lost.promise.catch(() => undefined);
    void this.#read();
  }

  agree(): void {}

  async ask(method: string, params: Record<string, unknown>): Promise<Answer> {
    const id = randomId(8, "hex");
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    this.#send({ jsonrpc: "2.0", id, method, params });
    try {
      return await Promise.race([answered, this.#lost.promise]);
    } finally {
      this.#waiting.delete(id);
    }
  }

  async tell(method: string): Promise<void> {
    this.#send({ jsonrpc: "2.0", method });
  }

  #send(message: object): void {
    this.#input.write(`${JSON.stringify(message)}\n`, () => undefined);
  }

  async #read(): Promise<void> {
    const lines = new LineReader(serverLimits.checkBytes);
    const budget = new Budget();
    try {
      for await (const chunk of this.#output) {
        budget.take(chunk.length);
        lines.push(chunk);
        for (let line = lines.next(); line !== undefined; line = lines.next()) this.#hear(line);
      }
      throw new AppError("unavailable", "the program closed its standard output");
    } catch (error) {
      this.#lost.reject(error instanceof AppError ? error : new AppError("unavailable", messageOf(error)));
    }
  }

  /** Lines that are no answers are noise here: logs, notifications, questions. */
  #hear(line: string): void {
    for (const [id, resolve] of this.#waiting) {
      const answer = line.includes(id) ? answerIn(line, id) : undefined;
      if (answer !== undefined) resolve(answer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#output.destroy();
  }
}

import type { Readable, Writable } from "node:stream";
import { AppError } from "../core/errors.ts";
import { ByteLines, tooLong } from "./byte-lines.ts";
import { BadMessage, decodeMessage, tooLarge } from "./decode.ts";
import { gatewayLimits } from "./limits.ts";
import type { Hearer, Line } from "./line.ts";
import type { Message } from "./message.ts";

/** Newline-delimited messages over a hosted server's standard input and output. */
export class StdioLine implements Line {
  readonly #input: Writable;
  readonly #output: Readable;
  readonly #hearer: Hearer;
  readonly #lines = new ByteLines(gatewayLimits.messageBytes);
  readonly #read = (chunk: Buffer) => this.#take(chunk);

  constructor({ input, output }: { input: Writable; output: Readable }, hearer: Hearer) {
    this.#input = input;
    this.#output = output;
    this.#hearer = hearer;
    output.on("data", this.#read);
    // An end of either is the end of the instance, which its link tells.
    for (const stream of [input, output]) stream.on("error", () => undefined);
  }

  async send(message: Message): Promise<void> {
    if (this.#input.writableLength > gatewayLimits.unreadBytes)
      throw new AppError("unavailable", "the server does not read its input");
    this.#input.write(`${JSON.stringify(message)}\n`);
  }

  close(): void {
    this.#output.off("data", this.#read);
  }

  #take(chunk: Buffer): void {
    for (const line of this.#lines.push(chunk)) {
      if (line === tooLong) this.#hearer.fail(tooLarge(), undefined);
      else if (line[0] === OPEN_OBJECT) this.#decode(line);
      // Anything else is no message: many servers print there.
    }
  }

  #decode(line: Buffer): void {
    let message: Message;
    try {
      message = decodeMessage(line);
    } catch (error) {
      if (error instanceof BadMessage && error.id !== undefined) this.#hearer.fail(error, error.id);
      return;
    }
    this.#hearer.hear(message, undefined);
  }
}

const OPEN_OBJECT = 0x7b;

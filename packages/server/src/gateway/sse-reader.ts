import { BytePile } from "../lib/byte-pile.ts";
import { ByteLines, tooLong } from "./byte-lines.ts";
import { tooLarge } from "./decode.ts";
import { gatewayLimits } from "./limits.ts";

interface SseEvent {
  id: string | undefined;
  /** Milliseconds after which the server wants to be asked for the rest. */
  retryMs: number | undefined;
  data: Buffer;
}

/** Reads events of a stream (`text/event-stream`), in bounded memory: one that is too large ends the stream. */
export class SseReader {
  /** A line may have a name before its data. */
  readonly #lines = new ByteLines(gatewayLimits.messageBytes + 16);
  readonly #data = new BytePile();
  #hasData = false;
  #id: string | undefined;
  #retryMs: number | undefined;

  *push(chunk: Buffer): Generator<SseEvent> {
    for (const line of this.#lines.push(chunk)) {
      if (line === tooLong) throw tooLarge();
      const bare = line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line;
      if (bare.length > 0) this.#field(bare);
      else if (this.#hasData || this.#id !== undefined) yield this.#end();
    }
  }

  #field(line: Buffer): void {
    const colon = line.indexOf(COLON);
    const name = line.toString("latin1", 0, colon < 0 ? line.length : Math.min(colon, 8));
    const start = colon < 0 ? line.length : colon + (line[colon + 1] === SPACE ? 2 : 1);
    const value = line.subarray(start);
    if (name === "id" && value.length <= gatewayLimits.idChars) this.#id = value.toString("latin1");
    if (name === "retry" && /^\d{1,9}$/.test(value.toString("latin1", 0, 10))) this.#retryMs = Number(value);
    if (name !== "data") return;
    if (this.#data.length + value.length + 1 > gatewayLimits.messageBytes) throw tooLarge();
    if (this.#hasData) this.#data.push(newline);
    this.#data.push(value);
    this.#hasData = true;
  }

  #end(): SseEvent {
    const event = { id: this.#id, retryMs: this.#retryMs, data: this.#data.take() };
    this.#hasData = false;
    this.#id = undefined;
    this.#retryMs = undefined;
    return event;
  }
}

const CARRIAGE_RETURN = 13;
const SPACE = 32;
const COLON = 58;
const newline = Buffer.from("\n");

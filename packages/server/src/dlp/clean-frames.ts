import { Transform, type TransformCallback } from "node:stream";
import { AppError } from "../core/errors.ts";
import type { Redactor } from "../core/redaction.ts";
import { CleanOutput } from "./clean-output.ts";

const isControl = (first: number) => (first & 8) !== 0;

/** A control frame is short and never cut into several (RFC 6455, 5.5): it is held until it is whole. */
const controlBytes = 125;

/** The head of a WebSocket frame (RFC 6455, 5.2) of a server, which masks none; undefined while it is not whole. */
function readHead(bytes: Buffer): { size: number; payload: number } | undefined {
  if (bytes.length < 2) return undefined;
  const [first = 0, second = 0] = bytes;
  if ((second & 128) !== 0)
    throw new AppError("unavailable", "the program masks its WebSocket frames, which servers must not do");
  const short = second & 127;
  if (isControl(first) && (short > controlBytes || first < 128))
    throw new AppError(
      "unavailable",
      `the program sends an incomplete control frame, or one longer than ${controlBytes} bytes`,
    );
  const size = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (bytes.length < size) return undefined;
  return { size, payload: size === 2 ? short : size === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2)) };
}

/** Output in order: bytes as they are, or a number of bytes of the messages. */
type Due = Buffer | number;

/**
 * WebSocket frames on their way out of a sandbox, with as many stars for each value that is hidden in it: what is in the messages is
 * looked through as one text, however it is cut into frames.
 */
export class CleanFrames extends Transform {
  readonly #redactor: Redactor;
  readonly #messages: CleanOutput<"messages">;
  #head: Buffer = Buffer.alloc(0);
  #left = 0;
  /** The control frame that comes, which stands by itself. */
  #control: Buffer[] | undefined;
  readonly #due: Due[] = [];

  constructor(redactor: Redactor) {
    super();
    this.#redactor = redactor;
    this.#messages = new CleanOutput({ messages: redactor.stream("fill") }, (_, piece) => this.#emit(piece));
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    try {
      for (let rest = chunk; rest.length > 0; ) rest = this.#take(rest);
      done();
    } catch (error) {
      done(error as AppError);
    }
  }

  override _flush(done: TransformCallback): void {
    void this.#messages.end();
    this.push(this.#head);
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#messages.close();
    done(error);
  }

  /** Returns what comes after it. */
  #take(bytes: Buffer): Buffer {
    if (this.#left === 0) return this.#takeHead(bytes);
    const size = Math.min(this.#left, bytes.length);
    const piece = bytes.subarray(0, size);
    this.#left -= size;
    if (this.#control === undefined) {
      this.#due.push(size);
      void this.#messages.push("messages", piece);
    } else {
      this.#control.push(piece);
      if (this.#left === 0) this.#endControl(Buffer.concat(this.#control));
    }
    return bytes.subarray(size);
  }

  #takeHead(bytes: Buffer): Buffer {
    const head = Buffer.concat([this.#head, bytes.subarray(0, 10)]);
    const read = readHead(head);
    if (read === undefined) {
      this.#head = head;
      return bytes.subarray(bytes.length);
    }
    const taken = read.size - this.#head.length;
    this.#head = Buffer.alloc(0);
    this.#left = read.payload;
    this.#control = isControl(head[0] ?? 0) ? [] : undefined;
    this.#send(head.subarray(0, read.size));
    return bytes.subarray(taken);
  }

  #endControl(payload: Buffer): void {
    const stream = this.#redactor.stream("fill");
    this.#send(Buffer.concat([...stream.push(payload), ...stream.end()]));
  }

  /** After what came before it. */
  #send(bytes: Buffer): void {
    if (this.#due.length === 0) this.push(bytes);
    else this.#due.push(bytes);
  }

  /** Takes what is done from the list at once: one by one takes time with the square of its length. */
  #emit(piece: Buffer): undefined {
    let at = 0;
    for (let rest = piece; rest.length > 0; ) {
      const due = this.#due[at];
      if (typeof due !== "number") break;
      const size = Math.min(due, rest.length);
      this.push(rest.subarray(0, size));
      rest = rest.subarray(size);
      if (size < due) this.#due[at] = due - size;
      else at++;
      for (let next = this.#due[at]; next instanceof Buffer; next = this.#due[++at]) this.push(next);
    }
    this.#due.splice(0, at);
  }
}

import { Transform, type TransformCallback } from "node:stream";
import type { Redactor } from "../core/redaction.ts";
import { CleanChannel } from "./clean-channel.ts";

/** Bytes on their way out of a sandbox, with as many stars for each value that is hidden in it. */
export class CleanBytes extends Transform {
  readonly #channel: CleanChannel;

  constructor(redactor: Redactor) {
    super();
    this.#channel = new CleanChannel(redactor.stream("fill"), (piece) => void this.push(piece));
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    void this.#channel.push(chunk);
    done();
  }

  override _flush(done: TransformCallback): void {
    void this.#channel.end();
    done();
  }
}

import { Transform, type TransformCallback } from "node:stream";
import type { Redactor } from "../core/redaction.ts";
import { CleanOutput } from "./clean-output.ts";

/** Bytes on their way out of a sandbox, with as many stars for each value that is hidden in it. */
export class CleanBytes extends Transform {
  readonly #clean: CleanOutput<"bytes">;

  constructor(redactor: Redactor) {
    super();
    this.#clean = new CleanOutput({ bytes: redactor.stream("fill") }, (_, piece) => void this.push(piece));
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    void this.#clean.push("bytes", chunk);
    done();
  }

  override _flush(done: TransformCallback): void {
    void this.#clean.end();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#clean.close();
    done(error);
  }
}

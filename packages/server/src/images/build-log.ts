import { createReadStream } from "node:fs";
import { appendFile, writeFile } from "node:fs/promises";
import { StringDecoder } from "node:string_decoder";
import { errnoOf } from "../core/errors.ts";
import { buildLimits } from "./limits.ts";

const cut = "\n… what follows is left out\n";

/** What is said while an image is made: kept in a file, and told to whoever follows as it comes. */
export class BuildLog {
  readonly #path: string;
  readonly #decoder = new StringDecoder("utf8");
  #bytes = 0;
  #isCut = false;
  #writing: Promise<void>;
  #ended = false;
  #news = Promise.withResolvers<void>();

  private constructor(path: string) {
    this.#path = path;
    this.#writing = Promise.resolve();
  }

  static async create(path: string): Promise<BuildLog> {
    await writeFile(path, "", { mode: 0o600 });
    return new BuildLog(path);
  }

  /** Resolves when it is written: whoever writes faster than the disk waits. */
  write(chunk: Buffer | string): Promise<void> {
    const text = typeof chunk === "string" ? chunk : this.#decoder.write(chunk);
    if (text === "" || this.#isCut) return this.#writing;
    const bytes = Buffer.from(text);
    const room = buildLimits.logBytes - this.#bytes;
    this.#bytes += bytes.length;
    this.#isCut = bytes.length > room;
    const part = this.#isCut ? Buffer.concat([bytes.subarray(0, room), Buffer.from(cut)]) : bytes;
    this.#writing = this.#writing.then(() => appendFile(this.#path, part)).then(() => this.#tell());
    return this.#writing;
  }

  /** The last of it, for an error. */
  async end(): Promise<void> {
    await this.#writing.catch(() => undefined);
    this.#ended = true;
    this.#tell();
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  /** From its beginning, until it has ended or the reader is gone. */
  async *follow(gone: AbortSignal): AsyncGenerator<string> {
    const decoder = new StringDecoder("utf8");
    const left = new Promise<void>((resolve) => gone.addEventListener("abort", () => resolve(), { once: true }));
    for (let offset = 0; !gone.aborted; ) {
      const ended = this.#ended;
      const news = this.#news.promise;
      for await (const piece of readFrom(this.#path, offset)) {
        offset += piece.length;
        const text = decoder.write(piece);
        if (text !== "") yield text;
      }
      if (ended) return;
      await Promise.race([news, left]);
    }
  }
}

/** Of a build that is over. */
export async function* readLog(path: string): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  for await (const piece of readFrom(path, 0)) yield decoder.write(piece);
}

/** What begins the line that names a step. */
export const stepMark = "==> ";

/** Of a log that is whole: the steps that were begun. */
export async function stepsIn(path: string): Promise<string[]> {
  const lines = (await Array.fromAsync(readLog(path))).join("").split("\n");
  return lines.flatMap((line) => (line.startsWith(stepMark) ? [line.slice(stepMark.length)] : []));
}

async function* readFrom(path: string, start: number): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path, { start }) as AsyncIterable<Buffer>;
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

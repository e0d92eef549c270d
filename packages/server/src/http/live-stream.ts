import { PassThrough, type Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { OutputChannel } from "../core/wire.ts";
import { httpLimits } from "./limits.ts";
import { toProblem } from "./problem.ts";
import type { Call, RouteResponse } from "./route.ts";

export type StreamFormat = "sse" | "ndjson";

export const mediaOf: Readonly<Record<StreamFormat, string>> = {
  sse: "text/event-stream",
  ndjson: "application/x-ndjson",
};

/** What Accept asks for; undefined when it asks for neither. */
export function streamFormat(accept: string | undefined): StreamFormat | undefined {
  if (accept?.includes(mediaOf.ndjson)) return "ndjson";
  return accept?.includes(mediaOf.sse) ? "sse" : undefined;
}

/** The same for a body with a field `stream`, which decides; undefined for one answer at the end. */
export function askedFormat(stream: boolean | undefined, accept: string | undefined): StreamFormat | undefined {
  if (stream === false) return undefined;
  return streamFormat(accept) ?? (stream ? "sse" : undefined);
}

/** A message as it goes over the wire. */
export function lineOf(format: StreamFormat, type: string, data: object, id?: number): string {
  const json = JSON.stringify({ type, ...data });
  return format === "sse" ? `${id === undefined ? "" : `id: ${id}\n`}event: ${type}\ndata: ${json}\n\n` : `${json}\n`;
}

/** Messages to one client as they come. Whoever sends waits while the client does not read (API-04). */
export class LiveStream {
  readonly format: StreamFormat;
  readonly #out = new PassThrough({ writableHighWaterMark: httpLimits.streamBufferBytes });
  readonly #gone = new AbortController();
  readonly #heartbeat: NodeJS.Timeout;
  #drained: Promise<void> | undefined;

  constructor(format: StreamFormat) {
    this.format = format;
    this.#out.once("close", () => {
      clearInterval(this.#heartbeat);
      this.#gone.abort();
    });
    this.#out.on("error", () => undefined); // the client went away; `gone` says so
    this.#heartbeat = setInterval(() => this.#beat(), httpLimits.heartbeatMs).unref();
    this.#out.write(format === "sse" ? ":\n\n" : ""); // sends the headers
  }

  get readable(): Readable {
    return this.#out;
  }

  /** Aborted when the client is gone or the stream has ended. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Undefined when there is room for more at once. */
  send(type: string, data: object, id?: number): Promise<void> | undefined {
    return this.gone.aborted ? undefined : this.sendLine(lineOf(this.format, type, data, id));
  }

  /** A message in this stream's format; many streams may be given the same bytes. */
  sendLine(line: Buffer | string): Promise<void> | undefined {
    if (this.gone.aborted) return undefined;
    return this.#out.write(line) ? undefined : this.#room();
  }

  end(): void {
    clearInterval(this.#heartbeat);
    this.#out.end();
  }

  #room(): Promise<void> {
    this.#drained ??= new Promise<void>((resolve) => {
      const done = () => {
        this.#out.off("drain", done).off("close", done);
        this.#drained = undefined;
        resolve();
      };
      this.#out.on("drain", done).on("close", done);
    });
    return this.#drained;
  }

  /** A client that does not read gets no heartbeat either. */
  #beat(): void {
    if (!this.#out.writableNeedDrain) this.#out.write(this.format === "sse" ? ":\n\n" : '{"type":"heartbeat"}\n');
  }
}

/** Output of programs as messages: text, whose characters are never cut in two, or base64. */
export class OutputMessages {
  readonly #live: () => LiveStream;
  readonly #decoders: Record<OutputChannel, StringDecoder> | undefined;

  constructor(live: () => LiveStream, encoding: "utf8" | "base64") {
    this.#live = live;
    this.#decoders =
      encoding === "utf8" ? { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") } : undefined;
  }

  readonly send = (channel: OutputChannel, chunk: Buffer): Promise<void> | undefined => {
    const data = this.#decoders === undefined ? chunk.toString("base64") : this.#decoders[channel].write(chunk);
    return data === "" ? undefined : this.#live().send(channel, { data });
  };

  /** What is left of a character that never came whole. */
  end(): void {
    if (this.#decoders === undefined) return;
    for (const channel of ["stdout", "stderr"] as const) {
      const data = this.#decoders[channel].end();
      if (data !== "") this.#live().send(channel, { data });
    }
  }
}

/**
 * Answers with a stream for as long as `work` goes on. What fails before `begin` is called is an ordinary error; after
 * it the stream ends with a message of type `error`.
 */
export function streamed(
  call: Pick<Call<unknown, unknown, unknown>, "openStream" | "report" | "requestId">,
  format: StreamFormat,
  work: (begin: () => LiveStream) => Promise<void>,
  headers: Readonly<Record<string, string>> = {},
): Promise<RouteResponse> {
  const release = call.openStream();
  const { promise, resolve, reject } = Promise.withResolvers<RouteResponse>();
  let live: LiveStream | undefined;
  const begin = () => {
    if (live !== undefined) return live;
    live = new LiveStream(format);
    resolve({
      status: 200,
      stream: live.readable,
      headers: { ...headers, "content-type": mediaOf[format], "x-accel-buffering": "no" },
    });
    return live;
  };
  const settle = async () => {
    try {
      await work(begin);
      begin().end();
    } catch (error) {
      if (live === undefined) return reject(error);
      const { type: _, ...problem } = toProblem(call.report(error), call.requestId);
      live.send("error", problem);
      live.end();
    }
  };
  void settle().finally(release);
  return promise;
}

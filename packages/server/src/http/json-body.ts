import type { IncomingMessage } from "node:http";
import { AppError } from "../core/errors.ts";
import { readScanned } from "../core/strict-json.ts";
import { type JsonBounds, JsonScan } from "../lib/json-scan.ts";
import { httpLimits } from "./limits.ts";
import { NotJson, NotTaken } from "./problem.ts";

/** Counter of the bytes that are held while the request lasts. */
export interface Holding {
  add(bytes: number): void;
  turn(): Promise<void>;
}

export interface BodyLimits {
  bytes: number;
  shape: JsonBounds;
  /** True if the value is sent on: it must be the same to its next reader (S131). */
  strict?: boolean;
  /** How long all of it may take: its memory is kept from others meanwhile. */
  wholeMs: number;
}

/** Reads the JSON body of a request; undefined if it has none. */
export async function readJson(request: IncomingMessage, limits: BodyLimits, holding: Holding): Promise<unknown> {
  const { "content-length": length, "content-type": type, "transfer-encoding": encoding } = request.headers;
  if (encoding === undefined && (length === undefined || length === "0")) return undefined;
  if (!isJson(type)) throw new NotTaken();
  if (Number(length) > limits.bytes) throw tooLarge(limits);
  // It is held for a moment only. If it counted, large bodies of the same key would keep its small requests out.
  const isSmall = Number(length) <= httpLimits.smallBodyBytes && request.readableLength === Number(length);
  const body = new Body(limits);
  const timer = setTimeout(() => request.socket.destroy(), limits.wholeMs);
  try {
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      if (!isSmall) holding.add(piece.length);
      body.add(piece);
    }
  } finally {
    clearTimeout(timer);
  }
  if (body.bytes > httpLimits.smallBodyBytes) await holding.turn();
  return body.parse();
}

/** A body as it comes. What is past its limits is refused before the rest of it is held. */
class Body {
  readonly #limits: BodyLimits;
  readonly #scan: JsonScan;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
    this.#scan = new JsonScan(limits.shape);
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#limits.bytes) throw tooLarge(this.#limits);
    const why = this.#scan.push(piece);
    if (why !== undefined) throw new AppError("too_large", `the body has ${why}`);
    this.#pieces.push(piece);
  }

  /** Nothing that would reach a prototype where it is copied into another object. */
  parse(): unknown {
    if (this.#bytes === 0) return undefined; // of chunks
    if (this.#scan.namesPrototype) throw new NotJson();
    const bytes = Buffer.concat(this.#pieces);
    try {
      if (this.#limits.strict) return readScanned(bytes, this.#scan);
      const text = bytes.toString();
      return JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text);
    } catch (error) {
      throw error instanceof AppError ? error : new NotJson();
    }
  }
}

export function isJson(type: string | undefined): boolean {
  return type === "application/json" || /^application\/json[ \t]*(;|$)/i.test(type ?? "");
}

function tooLarge({ bytes }: BodyLimits): AppError {
  return new AppError("too_large", `the body is too large (limit: ${bytes} bytes)`);
}

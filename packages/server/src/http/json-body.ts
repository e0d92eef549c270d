import type { IncomingMessage } from "node:http";
import { nextTick } from "node:process";
import { AppError } from "../core/errors.ts";
import { NotJson, NotTaken } from "./problem.ts";
import { watchBody } from "./request-body.ts";

export interface BodyLimits {
  bytes: number;
  /** How long it may stand still. */
  idleMs: number;
}

/** The JSON that a request has for a body, or undefined where it has none. */
export function readJson(
  request: IncomingMessage,
  limits: BodyLimits,
  done: (error: unknown, body?: unknown) => void,
): void {
  const { "content-length": length, "content-type": type, "transfer-encoding": encoding } = request.headers;
  if (encoding === undefined && (length === undefined || length === "0")) return done(undefined);
  if (!isJson(type)) return done(new NotTaken());
  if (Number(length) > limits.bytes) return done(tooLarge());
  const finish = (bytes: Buffer) => {
    let body: unknown;
    try {
      body = parse(bytes.toString());
    } catch {
      return done(new NotJson());
    }
    done(undefined, body);
  };
  // A small body comes with its head, and is there when that is dealt with: to take it then needs none of a stream's events.
  nextTick(() => {
    if (request.readableLength === Number(length)) return finish(request.read());
    watchBody(request, limits.idleMs);
    gather(request, limits).then(finish, done);
  });
}

async function gather(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    bytes += piece.length;
    if (bytes > limits.bytes) throw tooLarge();
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function isJson(type: string | undefined): boolean {
  return type === "application/json" || /^application\/json[ \t]*(;|$)/i.test(type ?? "");
}

function tooLarge(): AppError {
  return new AppError("too_large", "the body is too large");
}

/** Nothing that would reach a prototype where it is copied into another object. */
function parse(text: string): unknown {
  if (text === "") return undefined; // of chunks
  const json = text.startsWith("\ufeff") ? text.slice(1) : text;
  // Names may be written in other letters.
  const mayHarm = json.includes("__proto__") || json.includes("constructor") || json.includes("\\u");
  return mayHarm ? JSON.parse(json, refuseHarmful) : JSON.parse(json);
}

function refuseHarmful(name: string, value: unknown): unknown {
  const isPrototype = name === "constructor" && typeof value === "object" && value !== null && "prototype" in value;
  if (name === "__proto__" || isPrototype) throw new NotJson();
  return value;
}

/** The bytes of an answer, unpacked, and never more than asked for: what goes on past that is neither read nor unpacked. */
import { pipeline, type Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { ErrandResponse } from "../core/errand.ts";
import { AppError, messageOf } from "../core/errors.ts";
import { webLimits } from "./limits.ts";

export interface Body {
  bytes: Buffer;
  /** There was more. */
  isCut: boolean;
}

const unpackers = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
} as const;

export async function readBody({ headers, body }: ErrandResponse, mostBytes: number): Promise<Body> {
  const chunks: Buffer[] = [];
  let size = 0;
  let isLate = false;
  const source = unpack(body, String(headers["content-encoding"] ?? "identity"));
  const timer = setTimeout(() => {
    isLate = true;
    body.destroy(new Error("late"));
  }, webLimits.bodyMs);
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      chunks.push(chunk.subarray(0, mostBytes - size));
      size += chunk.length;
      if (size > mostBytes) break;
    }
  } catch (error) {
    if (isLate)
      throw new AppError("timeout", `the page was not received completely within ${webLimits.bodyMs / 1000} s`);
    throw new AppError("unavailable", `the page is incomplete: ${messageOf(error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
    source.destroy();
    body.destroy();
  }
  return { bytes: Buffer.concat(chunks), isCut: size > mostBytes };
}

/** One layer alone: what is packed more than once is no page. */
function unpack(body: Readable, encoding: string): Readable {
  const name = encoding.trim().toLowerCase();
  if (name === "" || name === "identity") return body;
  const make = Object.hasOwn(unpackers, name) ? unpackers[name as keyof typeof unpackers] : undefined;
  if (make === undefined) {
    body.destroy();
    throw new AppError("unsupported", `unsupported content encoding ${JSON.stringify(name.slice(0, 40))}`);
  }
  const unpacked = make();
  pipeline(body, unpacked, () => undefined); // an error shows where it is read
  return unpacked;
}

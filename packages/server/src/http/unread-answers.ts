import type { ServerResponse } from "node:http";
import { AppError } from "../core/errors.ts";
import { httpLimits } from "../core/http-limits.ts";

type Response = Pick<ServerResponse, "writableLength" | "once">;

/** What was answered and waits for clients to read it, of each key and in all: large answers are kept for nobody past that. */
export class UnreadAnswers {
  readonly #open = new Map<string, Set<Response>>();

  add(key: string, response: Response): void {
    const own = this.#open.get(key) ?? new Set();
    this.#open.set(key, own.add(response));
    response.once("close", () => {
      own.delete(response);
      if (own.size === 0 && this.#open.get(key) === own) this.#open.delete(key);
    });
  }

  /** Whether so large an answer may wait as well. */
  hasRoom(key: string, bytes: number): boolean {
    const { smallAnswerBytes, unreadBytesPerKey, unreadBytes } = httpLimits;
    if (bytes <= smallAnswerBytes) return true;
    if (sizeOf(this.#open.get(key) ?? []) > unreadBytesPerKey) return false;
    return sizeOf([...this.#open.values()].flatMap((own) => [...own])) <= unreadBytes;
  }

  check(key: string, bytes: number): void {
    if (!this.hasRoom(key, bytes)) throw tooMuchUnread();
  }
}

function sizeOf(responses: Iterable<Response>): number {
  let bytes = 0;
  for (const { writableLength } of responses) bytes += writableLength;
  return bytes;
}

export function tooMuchUnread(): AppError {
  return new AppError("limit_exceeded", "too much that was answered has not been read", {
    hint: "read the answers to earlier requests; what this one asked for was done, but its result is not kept",
    retryAfterMs: 1_000,
  });
}

import type { ServerResponse } from "node:http";
import { AppError } from "../core/errors.ts";
import { httpLimits } from "./limits.ts";

type Response = Pick<ServerResponse, "writableLength" | "once" | "socket">;

/** Bytes that a client had read at the last look, and the time since when they have not changed. */
interface Reading {
  takenBytes: number;
  sinceMs: number;
}

/** Bounds responses that wait for clients to read them, for each key and in total: past that no large one is kept. */
export class UnreadResponses {
  readonly #open = new Map<string, Map<Response, Reading>>();

  add(key: string, response: Response): void {
    const own = this.#open.get(key) ?? new Map();
    this.#open.set(key, own.set(response, { takenBytes: -1, sinceMs: 0 }));
    response.once("close", () => {
      own.delete(response);
      if (own.size === 0 && this.#open.get(key) === own) this.#open.delete(key);
    });
  }

  /** True if a response of this size may wait too. */
  hasRoom(key: string, bytes: number): boolean {
    const { smallAnswerBytes, unreadBytesPerKey, unreadBytes } = httpLimits;
    if (bytes <= smallAnswerBytes) return true;
    if (sizeOf(this.#open.get(key)?.keys() ?? []) > unreadBytesPerKey) return false;
    return sizeOf([...this.#open.values()].flatMap((own) => [...own.keys()])) <= unreadBytes;
  }

  check(key: string, bytes: number): void {
    if (!this.hasRoom(key, bytes)) throw tooMuchUnread();
  }

  /** Ends connections on which something waits and nothing was taken for long. Large answers go out in one piece, so that counts whole pieces. */
  endStalled(nowMs: number): void {
    for (const own of this.#open.values())
      for (const [{ socket }, reading] of own) {
        const takenBytes = (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0);
        const waits = socket !== null && socket.writableLength > 0;
        if (!waits || takenBytes !== reading.takenBytes) Object.assign(reading, { takenBytes, sinceMs: nowMs });
        else if (nowMs - reading.sinceMs >= patienceMs(socket.writableLength)) socket.destroy();
      }
  }
}

function patienceMs(waitingBytes: number): number {
  const { stalledMs, largeAnswerBytes } = httpLimits;
  return waitingBytes > largeAnswerBytes ? stalledMs.large : stalledMs.small;
}

function sizeOf(responses: Iterable<Response>): number {
  let bytes = 0;
  for (const { writableLength } of responses) bytes += writableLength;
  return bytes;
}

export function tooMuchUnread(): AppError {
  return new AppError("limit_exceeded", "too many unread responses", {
    hint: "read the responses to earlier requests; this request was executed, but its result is lost",
    retryAfterMs: 1_000,
  });
}

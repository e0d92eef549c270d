import { createHash } from "node:crypto";
import { AppError } from "../core/errors.ts";
import type { IdempotencyRecords } from "../core/idempotency.ts";
import type { Caller } from "../core/principal.ts";
import { requestHeaders } from "../schemas/headers.ts";
import { httpLimits } from "./limits.ts";
import { HttpError } from "./problem.ts";
import type { Route, RouteResponse } from "./route.ts";

export interface Attempt {
  caller: Caller;
  route: Route;
  key: string | string[];
  /** What must be the same when the key is. */
  request: unknown;
}

interface UnderWay {
  caller: Caller;
  requestHash: string;
  answer: Promise<RouteResponse>;
}

/** The same key and the same request get the same answer, also when both come at once (API-03). */
export class Idempotency {
  readonly #records: IdempotencyRecords;
  readonly #underWay = new Map<string, UnderWay>();

  constructor(records: IdempotencyRecords) {
    this.#records = records;
  }

  async once(attempt: Attempt, act: () => Promise<RouteResponse>): Promise<RouteResponse> {
    const { principal } = attempt.caller;
    if (!requestHeaders.idempotencyKey.safeParse(attempt.key).success)
      throw new AppError(
        "invalid",
        `Idempotency-Key must have 1 to ${httpLimits.idempotencyKeyChars} printable characters`,
      );
    // Keys of callers must not meet: one would see the other's answer.
    const name = hash([principal.namespace, principal.id, attempt.route.method, attempt.route.path, attempt.key]);
    const requestHash = hash(attempt.request);
    for (let running = this.#underWay.get(name); running !== undefined; running = this.#underWay.get(name)) {
      checkSame(running.requestHash, requestHash);
      try {
        return replayed(await running.answer);
      } catch (error) {
        if (!running.caller.gone?.aborted) throw error; // else it was given up for one who is not there any more
      }
    }
    const answer = this.#perform(name, requestHash, act);
    this.#underWay.set(name, { caller: attempt.caller, requestHash, answer });
    try {
      return await answer;
    } finally {
      this.#underWay.delete(name);
    }
  }

  async #perform(name: string, requestHash: string, act: () => Promise<RouteResponse>): Promise<RouteResponse> {
    const stored = await this.#records.get(name);
    if (stored !== undefined) {
      checkSame(stored.requestHash, requestHash);
      return replayed({ status: stored.status, json: JSON.parse(stored.body) });
    }
    const answer = await act(); // what fails leaves the key free for another try
    await this.#records.put({ name, requestHash, status: answer.status, body: JSON.stringify(answer.json ?? null) });
    return answer;
  }
}

function replayed(answer: RouteResponse): RouteResponse {
  return { ...answer, headers: { ...answer.headers, "idempotency-replayed": "true" } };
}

function checkSame(stored: string, asked: string): void {
  if (stored === asked) return;
  throw new HttpError(422, "conflict", "this Idempotency-Key was used for another request", {
    hint: "a new request takes a new key",
  });
}

function hash(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(value) ?? "")
    .digest("hex");
}

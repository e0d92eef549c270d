import type { ClientRequest, RequestOptions } from "node:http";
import { requestOver } from "../http-over/request.ts";
import type { Turn } from "../lib/turn.ts";
import type { Outlet } from "./outlet.ts";
import type { Refusal } from "./refusal.ts";

/** What one request goes out by. */
export interface Exit {
  request(options: RequestOptions): ClientRequest;
  /** Its answer has come whole. */
  done(): void;
  /** Breaks it off. */
  destroy(error?: Error): void;
  /** Why it broke. */
  readonly errored: Error | null;
}

/**
 * For the requests of a connection that share what they go out by, and so go in their order: one that overtook another would
 * wait for it to be answered, and hold what it goes out by.
 */
export type Exits = { turn: Turn; next(): Exit; refusal?: undefined } | { refusal: Refusal };

/** A connection for one request alone. */
export function exitBy(outlet: Outlet): Exit {
  return {
    request: (options) => requestOver(outlet, options),
    done: () => void outlet.destroy(),
    destroy: (error) => void outlet.destroy(error),
    get errored() {
      return outlet.errored;
    },
  };
}

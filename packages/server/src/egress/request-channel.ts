import type { ClientRequest, RequestOptions } from "node:http";
import { requestOver } from "../http-over/request.ts";
import type { Turn } from "../lib/turn.ts";
import type { ConnectionRefusal } from "./connection-refusal.ts";
import type { UpstreamConnection } from "./upstream-connection.ts";

/** The way out of one request. */
export interface RequestChannel {
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
export type RequestChannels =
  | { turn: Turn; next(): RequestChannel; refusal?: undefined }
  | { refusal: ConnectionRefusal };

/** A connection for one request alone. */
export function channelOver(upstream: UpstreamConnection): RequestChannel {
  return {
    request: (options) => requestOver(upstream, options),
    done: () => void upstream.destroy(),
    destroy: (error) => void upstream.destroy(error),
    get errored() {
      return upstream.errored;
    },
  };
}

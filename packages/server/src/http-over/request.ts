import { type ClientRequest, type RequestOptions, request } from "node:http";
import type { Duplex } from "node:stream";

/** A request on a connection that is there already: nothing is dialled. */
export function requestOver(connection: Duplex, options: RequestOptions): ClientRequest {
  return request({ ...options, createConnection: () => connection });
}

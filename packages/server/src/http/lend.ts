import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import type { Fleet } from "../core/fleet.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { httpLimits } from "./limits.ts";
import type { Call, RouteResponse } from "./route.ts";

export interface Download {
  answer: Omit<RouteResponse, "stream">;
  bytes: AsyncIterable<Uint8Array>;
}

/** Sends bytes of a sandbox, which is lent for as long as that takes. What fails before the first byte is an error. */
export function download(
  fleet: Fleet<Sandbox>,
  call: Pick<Call<{ id: string }, unknown, unknown>, "caller" | "params" | "signal" | "openStream">,
  prepare: (sandbox: Sandbox) => Promise<Download>,
): Promise<RouteResponse> {
  const release = call.openStream();
  const { promise, resolve, reject } = Promise.withResolvers<RouteResponse>();
  fleet
    .use(call.caller, call.params.id, async (sandbox) => {
      const { answer, bytes } = await prepare(sandbox);
      const first = await primed(bytes);
      const stream = Readable.from(first, { objectMode: false, highWaterMark: httpLimits.streamBufferBytes });
      const stop = () => stream.destroy();
      call.signal.addEventListener("abort", stop, { once: true });
      if (call.signal.aborted) stop();
      resolve({ ...answer, stream });
      await finished(stream).catch(() => undefined); // whoever reads it sees the error
    })
    .catch(reject)
    .finally(release);
  return promise;
}

/** The same bytes, of which the first have come: a file that is not there has said so. */
async function primed(bytes: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const iterator = bytes[Symbol.asyncIterator]();
  const first = await iterator.next();
  return (async function* () {
    try {
      for (let next = first; !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  })();
}
